// `pack` removes the parts of `package.json` that only the workspace can use. It runs before `npm pack`. `restore` runs
// afterwards and restores the original file.
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
 * Returns the manifest for npm users. Node.js does not run TypeScript of packages, so the exports of source files would only
 * throw. The versions of development dependencies are in a catalog, which npm users do not have.
 */
function published(text: string): string {
  const { exports, devDependencies: _, scripts: __, ...rest } = Manifest.parse(JSON.parse(text))
  const { './*.ts': ___, '.': entry, ...others } = exports
  const { 'trestle-sources': ____, ...built } = entry
  return `${JSON.stringify({ ...rest, exports: { '.': built, ...others } }, null, 2)}\n`
}

if (process.argv[2] === 'pack') {
  // If an earlier run was interrupted, the kept file contains the original manifest. Restore it first.
  if (existsSync(kept)) renameSync(kept, manifest)
  const text = readFileSync(manifest, 'utf8')
  writeFileSync(kept, text)
  writeFileSync(manifest, published(text))
} else {
  renameSync(kept, manifest)
}
