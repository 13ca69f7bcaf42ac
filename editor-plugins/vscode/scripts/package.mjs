/**
 * Build hunchd-VERSION.vsix: a zip of the extension's files and two manifests.
 *
 * The usual tool, vsce, has 138 dependencies, and this extension has no dependencies to bundle. The same
 * sources always give the same bytes.
 */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const escaped = (text) => String(text).replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);

const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${about.name}" Version="${about.version}" Publisher="${about.publisher}"/>
    <DisplayName>${escaped(about.displayName)}</DisplayName>
    <Description xml:space="preserve">${escaped(about.description)}</Description>
    <Tags>${escaped(about.keywords.join(","))}</Tags>
    <Categories>${escaped(about.categories.join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escaped(about.engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${about.extensionKind.join(",")}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionDependencies" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionPack" Value=""/>
    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/${about.icon}</Icon>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/${about.icon}" Addressable="true"/>
  </Assets>
</PackageManifest>
`;

const types = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${[
  [".json", "application/json"],
  [".js", "application/javascript"],
  [".md", "text/markdown"],
  [".txt", "text/plain"],
  [".svg", "image/svg+xml"],
  [".png", "image/png"],
  [".vsixmanifest", "text/xml"],
]
  .map(([extension, type]) => `<Default Extension="${extension}" ContentType="${type}"/>`)
  .join("")}</Types>
`;

/** Return all installed files: name in the archive → content. */
function contents() {
  const { devDependencies, scripts, private: _, ...installed } = about;
  const files = new Map([
    ["extension.vsixmanifest", Buffer.from(manifest)],
    ["[Content_Types].xml", Buffer.from(types)],
    ["extension/package.json", Buffer.from(JSON.stringify(installed, null, 2))],
    ["extension/README.md", readFileSync(join(root, "README.md"))],
    ["extension/LICENSE.txt", readFileSync(join(root, "../../LICENSE"))],
  ]);
  for (const name of readdirSync(join(root, "media")).sort()) {
    files.set(`extension/media/${name}`, readFileSync(join(root, "media", name)));
  }
  for (const name of readdirSync(join(root, "out/src")).sort()) {
    files.set(`extension/out/src/${name}`, readFileSync(join(root, "out/src", name)));
  }
  return files;
}

const MADE = 0x21; // 1980-01-01, the first date in a zip: the same sources give the same bytes
const UTF8 = 0x800;
const DEFLATED = 8;

/** Return a zip archive by PKWARE's APPNOTE. */
function zipped(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of files) {
    const packed = deflateRawSync(content, { level: 9 });
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(UTF8, 2);
    common.writeUInt16LE(DEFLATED, 4);
    common.writeUInt16LE(MADE, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const entry = Buffer.alloc(46);
    entry.write("PK\x01\x02", "latin1");
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, path);
    const local = [Buffer.from("PK\x03\x04", "latin1"), common, path, packed];
    parts.push(...local);
    offset += local.reduce((sum, part) => sum + part.length, 0);
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, listing, end]);
}

const archive = zipped(contents());
const name = `${about.name}-${about.version}.vsix`;
writeFileSync(join(root, name), archive);
console.log(`${name}: ${(archive.length / 1024).toFixed(0)} kB`);
