"""The published files that the loaders read: places, checksums, publishers.

Checksums are those of the files in the data folder. Where these are repacked copies (text archives,
the files of the LIBSVM page), the publisher's own form has another checksum; it is given where it
is known, and the loaders read either form.
"""

from __future__ import annotations

from shiftlearn.datasets.folder import Published

__all__ = ["FILES", "LDPA_WHOLE"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_CAI = "http://www.cad.zju.edu.cn/home/dengcai/Data"
_NEWSGROUPS = "http://qwone.com/~jason/20Newsgroups"

_ALL = (
    Published(
        "20newsgroups/20news-18828.tar.xz",
        "b93db82da8eb9ce1a85532e752d3f6b00c1171d808ee5e06b3e93f694f99708f",
        f"{_NEWSGROUPS}/20news-18828.tar.gz",
        original="20newsgroups/20news-18828.tar.gz",
    ),
    Published(
        "20newsgroups/20news-19997.tar.xz",
        "be940e16a34a7ace05cdd8f68e223d5f83ced1eb5d755becf5f357b829b3fa8b",
        f"{_NEWSGROUPS}/20news-19997.tar.gz",
        original="20newsgroups/20news-19997.tar.gz",
    ),
    Published(
        "20newsgroups/20news-bydate.tar.xz",
        "de7983cfc0d9244f40e5f028778c9cacb6a78697ce136d4d7b91ba8458f9d024",
        f"{_NEWSGROUPS}/20news-bydate.tar.gz",
        original="20newsgroups/20news-bydate.tar.gz",
        original_sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    ),
    Published(
        "20newsgroups/preprocessed/comp.mat",
        "519aa5e083334cfc7d4892c4f3fa81ce326dc55255e2e0f4ce9dd93164b331c5",
    ),
    Published(
        "20newsgroups/preprocessed/rec.mat",
        "821e5ceeaa647e1b2c9992c73e8a6f96e1b1db4a98dd4e2e9298036fd06bd1db",
    ),
    Published(
        "20newsgroups/preprocessed/sci.mat",
        "5c040803134ed37080077a0a635f89e055aa1d5f726b362cc441e85a9296d94a",
    ),
    Published(
        "20newsgroups/preprocessed/talk.mat",
        "e716e2a2c656cd66a45d40861867e8fc7d4f0ac281feca35390d7383b6843f8e",
    ),
    Published(
        "reuters21578/cross-domain/org_vs_people_1.mat",
        "b1b15606db6587bfc29865823a56f0488f74d6cbf38c661afab963a9a81a9f6b",
    ),
    Published(
        "reuters21578/cross-domain/org_vs_people_2.mat",
        "849e896e83bc2896374913762e4d640b4f22ce32d41a8b105387444acc81df93",
    ),
    Published(
        "reuters21578/cross-domain/org_vs_place_1.mat",
        "6be2c7ef1823bda2c1d6b19b0f5ff8248b2a704542e943085626ec104e85420a",
    ),
    Published(
        "reuters21578/cross-domain/org_vs_place_2.mat",
        "22e1d09b194166fa695216a2e8f601488399e9273f92863b9d1af8891e9c86d3",
    ),
    Published(
        "reuters21578/cross-domain/people_vs_place_1.mat",
        "a518f905101a170e22f1550fa52d5f182c3dd533281ac515b59d04a25c9f181a",
    ),
    Published(
        "reuters21578/cross-domain/people_vs_place_2.mat",
        "134b7825fe462b709d9b23004f2402cad4f4c02bd3ea2ceeca196b32c40100e0",
    ),
    Published(
        "reuters21578/reuters21578.tar.xz",
        "b0a0be27e211428aa093d6494825430e9788da4ee85fa7bbbd86f306d4301167",
        f"{_UCI}/reuters21578-mld/reuters21578.tar.gz",
        original="reuters21578/reuters21578.tar.gz",
        original_sha256="3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30",
    ),
    Published(
        "mushroom/agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        f"{_UCI}/mushroom/agaricus-lepiota.data",
    ),
    Published(
        "isolet/Isolet1.mat",
        "f643c3cbd2669e1e9a6110943fcf538cfc209db384f3387d33acbbe550376765",
    ),
    Published(
        "isolet/Isolet2.mat",
        "f69ca6b76d196a5778d1883ec7f18a2b97c620507675cd229c4e65fbb28c9037",
    ),
    Published(
        "isolet/Isolet3.mat",
        "1d1f991f0a1b9e9decd73779ff595d7f66e4da47cac655f71fd350d2028106b7",
    ),
    Published(
        "isolet/Isolet4.mat",
        "c676e6d11ef3b6ca17cd38c3cd9a44299fb5681a5ed8460adf821074d0af4fcd",
    ),
    Published(
        "isolet/isolet5.mat",
        "a3849f6c0a9d0e0ed55dde15eb8ae8f4ba94df79b9fc260d00c28b8695d48600",
    ),
    Published(
        "ldpa-partial/ConfLongDemo_JSI.first-tenth.csv.gz",
        "231b1a67af1d3241713374881764c39fc829462cdc5873c28b34f8349ee05b5a",
    ),
    Published(
        "glass/glass.data",
        "dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d",
        f"{_UCI}/glass/glass.data",
    ),
    Published(
        "vehicle/xaa.dat",
        "7fd869de06e71e027cfd8d2a4720d0e3cbead77fef5a8a1d81fa628bb61d6d2d",
        f"{_UCI}/statlog/vehicle/xaa.dat",
        original="vehicle/uci/xaa.dat",
    ),
    Published(
        "vehicle/xab.dat",
        "eb9b39becd4d0c4e77e2a5d47732d83960b6418243eac39da261a290178ee0f7",
        f"{_UCI}/statlog/vehicle/xab.dat",
        original="vehicle/uci/xab.dat",
    ),
    Published(
        "vehicle/xac.dat",
        "4975a47f907d7dab052518f5aceefab03c9eb50d52b108e7641bc7bf2982ed06",
        f"{_UCI}/statlog/vehicle/xac.dat",
        original="vehicle/uci/xac.dat",
    ),
    Published(
        "vehicle/xad.dat",
        "4d026d84e318e4a7d60d207c84475d3caa869f499276bd58cdee386ca628c678",
        f"{_UCI}/statlog/vehicle/xad.dat",
        original="vehicle/uci/xad.dat",
    ),
    Published(
        "vehicle/xae.dat",
        "b65fc1395cb068b9f579796969dc80944124c42b5d7cbd92a19b34bfd6173309",
        f"{_UCI}/statlog/vehicle/xae.dat",
        original="vehicle/uci/xae.dat",
    ),
    Published(
        "vehicle/xaf.dat",
        "297d6811d98c355819addd03678b8a8ac4f8355ca7c556bae2f1f2427afad97c",
        f"{_UCI}/statlog/vehicle/xaf.dat",
        original="vehicle/uci/xaf.dat",
    ),
    Published(
        "vehicle/xag.dat",
        "e343075bc28293062f1ca82d955c1406235e3d63c419c5ef67ebb9e8516e1eec",
        f"{_UCI}/statlog/vehicle/xag.dat",
        original="vehicle/uci/xag.dat",
    ),
    Published(
        "vehicle/xah.dat",
        "4befe2b54c121bc94fbc4599196180b33e646c7a52a345d1f91d90666e260480",
        f"{_UCI}/statlog/vehicle/xah.dat",
        original="vehicle/uci/xah.dat",
    ),
    Published(
        "vehicle/xai.dat",
        "74781b1c689c3e4899f6021f55a054bf020cf38f74d699faeb6ad72c724af92e",
        f"{_UCI}/statlog/vehicle/xai.dat",
        original="vehicle/uci/xai.dat",
    ),
    Published(
        "segment/segmentation.data",
        "bfb7cabcb8f52577ce1ccaf161c7b0c4b202b347a854f5570a239fccc5a9578a",
        f"{_UCI}/image/segmentation.data",
        original="segment/uci/segmentation.data",
    ),
    Published(
        "segment/segmentation.test",
        "0c4acd1154fbfe02924b191aa95e52485aa30b2f87b769ed7b6509ed3121e57a",
        f"{_UCI}/image/segmentation.test",
        original="segment/uci/segmentation.test",
    ),
    Published(
        "iris/iris.data",
        "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0",
        f"{_UCI}/iris/iris.data",
    ),
    Published(
        "yale-faces/Yale_32x32.mat",
        "beb3cc9f448c1ab786583c8f5429368c299843ee88263f9650ed463004ef7633",
        f"{_CAI}/Yale/Yale_32x32.mat",
    ),
    Published(
        "orl-faces/ORL_32x32.mat",
        "c30cb53be2cab2da293eaeb35c1a7c16cad513fa14d0400ad5ed51f03e1ce7c8",
        f"{_CAI}/ORL/ORL_32x32.mat",
    ),
    Published(
        "landmine/LandmineData.mat",
        "2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
        "http://www.ee.duke.edu/~lcarin/LandmineData.zip",
        member="LandmineData.mat",
    ),
    Published(
        "ecml2006-spam/task_a_u00_eval_lab.tf.gz",
        "c26f8f216893804aa60e8f8368617289ae856c993a7a2283c982b9025ab3a1ee",
    ),
    Published(
        "ecml2006-spam/task_a_u01_eval_lab.tf.gz",
        "7ceb53d1c254183ee2bbe66930f6d1444104912769395472b4a52deab875c0c6",
    ),
    Published(
        "ecml2006-spam/task_a_u02_eval_lab.tf.gz",
        "e8892535d4c8a1f67e9e46bea23853e6fea0c90a36851b9bcdbfeff9c835cbc1",
    ),
    Published(
        "libsvm/a9a.t.xz",
        "f46ba01e58c0b4c41e45764d5a1593ddf2dc44f515dba1f0728070422eb91f8f",
        f"{_LIBSVM}/a9a.t",
        original="libsvm/a9a.t",
        original_sha256="1f7bae8e9729ad2bf9d18f66e5fa622e503e615114f92c37b274dfd24f2e5725",
    ),
    Published(
        "libsvm/a9a.xz",
        "cea7c541c650d123ac692cb8e2244d1c2e82f67c75cbfeccdb25a4b6fc88ef72",
        f"{_LIBSVM}/a9a",
        original="libsvm/a9a",
        original_sha256="f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
    ),
    Published(
        "libsvm/heart_scale",
        "5defa0a4c4c5bdaf3f55ae3828310252e8565c13ee37ce279e0b86d82e7f4ce9",
        f"{_LIBSVM}/heart_scale",
    ),
    Published(
        "libsvm/w8a.xz",
        "07646ff4ecbbc16bbc9d14c926e0fef553be3125b0bcf1119c494734f0a1554b",
        f"{_LIBSVM}/w8a",
        original="libsvm/w8a",
        original_sha256="b464b4f6ce6a5d9e181ffc793e19a04751036273722312398ef7673705014902",
    ),
)

#: The whole LDPA file (five persons); its SHA-256 is not known. Where it lies in the data folder it
#: is preferred to the first tenth.
LDPA_WHOLE = Published("ldpa/ConfLongDemo_JSI.txt", "", f"{_UCI}/00196/ConfLongDemo_JSI.txt")

#: Published files by their place in the data folder.
FILES = {published.path: published for published in _ALL}
