import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Rule } from './source-tree.ts'

const Manifest = z.object({ description: z.string().min(1) })

/** Each package has a charter, which its files obey. Its README begins with the description in its `package.json`. */
export const charters: Rule = ({ root, files }) => {
  const folders = new Set(files.flatMap(({ path }) => /^packages\/[^/]+(?=\/)/.exec(path)?.[0] ?? []))
  return [...folders].flatMap((folder) => {
    const manifest = join(root, folder, 'package.json')
    if (!existsSync(manifest)) return []
    const { success, data } = Manifest.safeParse(JSON.parse(readFileSync(manifest, 'utf8')))
    if (!success)
      return [{ path: `${folder}/package.json`, message: 'has no description: say what the package is for' }]
    const readme = files.find(({ path }) => path === `${folder}/README.md`)
    const [, charter] = readme?.text.split('\n\n') ?? []
    if (charter?.trim() === `${data.description}.`) return []
    return [{ path: `${folder}/README.md`, message: `does not begin with the charter: ${data.description}.` }]
  })
}
