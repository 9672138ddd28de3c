import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const documents = globSync(
  ['*.md', 'bench/*.md', 'docs/**/*.md', 'examples/*/*.md', '{packages,services}/*/README.md'],
  {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  },
).sort()
const examples = documents.flatMap((document) =>
  [...readFileSync(join(root, document), 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = '', text = ''], i) => ({ document, number: i + 1, language, text }),
  ),
)

/** An example is a module, members of an object, or members of a class. `…` stands for what is left out. */
function parseTypeScript(example: string): void {
  const text = example.replaceAll('…', '')
  const forms = [text, `void {${text}}`, `class Example {${text}}`]
  const isValid = (form: string) => {
    try {
      return stripTypeScriptTypes(form) !== undefined
    } catch {
      return false
    }
  }
  if (!forms.some(isValid)) throw new Error('is no TypeScript')
}

/** Throws unless a text is one of its language. Words such as `<code>` stand for a value. */
const PARSERS: Readonly<Record<string, (text: string) => void>> = {
  json: (text) => void JSON.parse(text),
  js: (text) => void stripTypeScriptTypes(text),
  ts: parseTypeScript,
  sh: (text) => {
    const { status, stderr } = spawnSync('bash', ['-nc', text.replaceAll(/<([a-z][a-z_ ]*)>/g, 'value')], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
  },
}

describe('examples of documents', () => {
  it.each(examples.filter(({ language }) => PARSERS[language]))(
    '$document: example $number is valid $language',
    ({ language, text }) => {
      expect(() => PARSERS[language]?.(text)).not.toThrow()
    },
  )
})
