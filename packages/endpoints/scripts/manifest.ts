// `pack` removes from package.json what only the workspace can use, before `npm pack`. `restore` puts the
// whole file back after it.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const manifest = join(import.meta.dirname, '../package.json')
const kept = join(import.meta.dirname, '../.package.json.kept')

const Members = z.record(z.string(), z.unknown())
const Manifest = z.looseObject({
  exports: z.looseObject({ '.': Members }),
  devDependencies: Members,
  scripts: Members,
})

/**
 * The manifest as strangers get it. Node.js runs no TypeScript of packages, so the exports of sources would only throw;
 * versions of development dependencies stand in a catalog that strangers do not have.
 */
function published(text: string): string {
  const { exports, devDependencies: _, scripts: __, ...rest } = Manifest.parse(JSON.parse(text))
  const { './*.ts': ___, '.': entry, ...others } = exports
  const { 'trestle-sources': ____, ...built } = entry
  return `${JSON.stringify({ ...rest, exports: { '.': built, ...others } }, null, 2)}\n`
}

if (process.argv[2] === 'pack') {
  // A run that was cut off leaves the whole manifest in the kept file, and a shortened one in its place.
  if (existsSync(kept)) renameSync(kept, manifest)
  const text = readFileSync(manifest, 'utf8')
  writeFileSync(kept, text)
  writeFileSync(manifest, published(text))
} else {
  renameSync(kept, manifest)
}
