import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Rule } from './source-tree.ts'

/** Packages that declare no licence. Tests and examples may use them, because we do not publish those as programs. */
const UNLICENSED = ['@paylike/request']

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
})

/** A package without a licence gives nobody the right to pass it on, so no service or package depends on one. */
export const unlicensedPackages: Rule = ({ root }) =>
  globSync(['package.json', 'migrations/package.json', '{services,packages}/*/package.json'], { cwd: root }).flatMap(
    (path) => {
      const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(root, path), 'utf8')))
      const names = new Set(Object.values(manifest).flatMap(Object.keys))
      return UNLICENSED.filter((name) => names.has(name)).map((name) => ({
        path,
        message: `depends on ${name}, which declares no licence: only tests and examples may use it`,
      }))
    },
  )
