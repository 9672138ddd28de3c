import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The specifier by which test modules import the framework. */
export const framework = pathToFileURL(join(import.meta.dirname, '../src/endpoints.ts')).href

/** A module with a controller for each name. Each answers with `answer`, by default its name. */
export function controllers(names: readonly string[], answer?: string): string {
  const classes = names.map(
    (name) => `export class ${name} extends Controller { GET() { return ${JSON.stringify(answer ?? name)} } }`,
  )
  return [`import { Controller } from ${JSON.stringify(framework)}`, ...classes, ''].join('\n')
}

/** A new folder with these files. It is removed at the end of the block that declares it. */
export function moduleFolder(files: Readonly<Record<string, string>>): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'endpoints-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
