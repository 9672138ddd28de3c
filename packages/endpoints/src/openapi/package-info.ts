import type { DocumentInfo } from './document.ts'

/** Name and version in the nearest package.json above a folder, where the runtime has files. */
export function packageInfo(dir: string | undefined): DocumentInfo {
  const unknown = { title: 'API', version: '0.0.0' }
  if (typeof process === 'undefined' || process.getBuiltinModule === undefined) return unknown
  const { existsSync, readFileSync } = process.getBuiltinModule('node:fs')
  const { dirname, join, resolve } = process.getBuiltinModule('node:path')
  for (let folder = resolve(dir ?? '.'), above = ''; folder !== above; above = folder, folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (!existsSync(file)) continue
    const { name, version, description }: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'))
    return {
      title: typeof name === 'string' ? name : unknown.title,
      version: typeof version === 'string' ? version : unknown.version,
      ...(typeof description === 'string' ? { description } : {}),
    }
  }
  return unknown
}
