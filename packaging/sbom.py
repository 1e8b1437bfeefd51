"""What is in the program, as SPDX 2.3 in JSON: https://spdx.github.io/spdx-spec/v2.3/"""
import datetime
import hashlib

import common
import libraries


def package(name, version, licence, **more):
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def library(source, version, licence):
    purl = "pkg:deb/debian/%s@%s?arch=source" % (source, version.replace(":", "%3A"))
    return package(source, version, licence, primaryPackagePurpose="LIBRARY",
                   supplier="Organization: Debian",
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": purl}])


def link(a, kind, b):
    return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}


def make():
    program = common.PROGRAM.read_bytes()
    own = package("procpen", common.version(), "MIT", primaryPackagePurpose="APPLICATION",
                  supplier="Organization: " + common.IDENTITY["authors"],
                  homepage=common.IDENTITY["homepage"])
    parts = [library(source, version, libraries.LIBRARIES[name])
             for name, (source, version) in libraries.sources().items()]
    file = {"SPDXID": "SPDXRef-program", "fileName": "./procpen", "fileTypes": ["BINARY"],
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(program).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": common.sha256(program)}],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}
    created = datetime.datetime.fromtimestamp(common.epoch(), datetime.timezone.utc)
    name = "procpen-%s-linux-%s" % (common.version(), common.machine()[0])
    common.write(name + ".spdx.json", common.as_json({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": "%s/spdx/%s-%s" % (common.IDENTITY["homepage"], name,
                                                common.sha256(program)[:16]),
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: " + common.IDENTITY["authors"],
                                      "Tool: packaging/sbom.py-" + common.version()]},
        "packages": [own, *parts],
        "files": [file],
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-public-domain",
            "extractedText": "The author has placed this part in the public domain."}],
        "relationships": [link("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-procpen"),
                          link("SPDXRef-procpen", "CONTAINS", "SPDXRef-program"),
                          *(link("SPDXRef-program", "STATIC_LINK", part["SPDXID"])
                            for part in parts)],
    }))
