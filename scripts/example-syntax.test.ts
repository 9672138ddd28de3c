import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { integer } from '../packages/common/src/config/setting.ts'
import { planStack } from '../packages/stack/src/settings/plan.ts'
import { loadSecrets } from '../packages/stack/src/settings/secrets-file.ts'
import { environmentOf } from '../packages/stack/src/settings/service-environment.ts'
import { createFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
import { loadAuthConfig } from '../services/auth/src/config.ts'
import { refusedBy } from '../services/auth/src/flows/redirect-allow-list.ts'
import { type DocumentExample, examplesIn, hasStandIns, RUN_BY } from './test/document-examples.ts'

removeFoldersAtEnd()

const root = join(import.meta.dirname, '..')
const documents = globSync(
  ['*.md', 'bench/*.md', 'docs/**/*.md', 'examples/*/*.md', 'migrations/*.md', '{packages,services}/*/README.md'],
  {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  },
).sort()
const examples = documents.flatMap((document) => examplesIn(root, document))

/** Parses an example as a module, members of an object or members of a class. `…` stands for omitted code. */
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

/** Parsers by language, which throw for invalid text. Words such as `<code>` stand for a value. */
const PARSERS: Readonly<Record<string, (text: string) => void>> = {
  json: (text) => void JSON.parse(text),
  js: (text) => void stripTypeScriptTypes(text),
  yaml: (text) => void parse(text, { strict: true }),
  ts: parseTypeScript,
  sh: (text) => expect(shellProblems.get(text)).toBe(''),
}

const parsed = examples.filter(({ language }) => PARSERS[language])
const shellProblems = findShellProblems(parsed.flatMap(({ language, text }) => (language === 'sh' ? [text] : [])))

/**
 * Returns the messages of bash about each text. Bash parses the texts without running them. One bash forks itself for each text,
 * because starting it from here would copy the page tables of this large process each time.
 */
function findShellProblems(texts: readonly string[]): ReadonlyMap<string, string> {
  // After `set -n`, bash parses the rest of the same `eval` without running it.
  const parseEach = String.raw`for text; do (eval "set -n"$'\n'"$text") 2>&1; printf '\0'; done`
  const read = texts.map((text) => text.replaceAll(/<([a-z][a-z_ ]*)>/g, 'value'))
  const { status, stdout } = spawnSync('bash', ['-c', parseEach, 'bash', ...read], { encoding: 'utf8' })
  if (status !== 0) throw new Error('bash has not read all examples')
  const said = stdout.split('\0')
  return new Map(texts.map((text, index) => [text, said[index] ?? ''] as const))
}

describe('examples of documents', () => {
  it.each(parsed)('$document: example $number of $language is valid', ({ language, text }) => {
    expect(() => PARSERS[language]?.(text)).not.toThrow()
  })

  it('all run in a test, but for diagrams and for output without a language', () => {
    const testOf = ({ document, language }: DocumentExample) =>
      RUN_BY[`${document} ${language}`] ?? (PARSERS[language] && RUN_BY[document])
    const run = examples.filter(({ language }) => language !== '' && language !== 'mermaid')
    const unrun = run.filter((example) => !hasStandIns(example) && testOf(example) === undefined)
    expect(unrun.map(({ document, language, number }) => `${document} ${language} ${number}`)).toEqual([])
  })

  it.each(Object.entries(RUN_BY))('of %s run in %s, which reads the document', (place, test) => {
    const [document = ''] = place.split(' ')
    expect(readFileSync(join(root, test), 'utf8').includes(basename(document))).toBe(true)
  })
})

/** Returns the only example in a language in a document. */
function exampleOf(document: string, language: string): string {
  const [first, ...others] = examplesIn(root, document).filter((example) => example.language === language)
  expect(others).toEqual([])
  return first?.text ?? ''
}

it('docs/reference/auth.md: the settings switch the provider on', () => {
  const settings = parseEnv(exampleOf('docs/reference/auth.md', 'sh'))
  const addresses = { AUTH_SITE_URL: 'https://www.example.com', AUTH_API_EXTERNAL_URL: 'https://auth.example.com' }
  const database = {
    AUTH_DB_DRIVER: 'postgres',
    DATABASE_URL: 'postgres://localhost/a',
    AUTH_JWT_SECRET: 's'.repeat(32),
  }
  const mail = { AUTH_SMTP_HOST: 'localhost', AUTH_SMTP_PORT: '25', AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com' }
  const config = loadAuthConfig({ ...addresses, ...database, ...mail, ...settings })
  expect(config.external.providers.get('github')).toEqual({
    enabled: true,
    clientIds: ['<client id>'],
    secret: '<client secret>',
    redirectUri: `${addresses.AUTH_API_EXTERNAL_URL}/callback`,
    url: undefined,
    extraAudiences: [],
    trustedConnections: [],
    emailOptional: false,
    checksNonce: true,
  })
})

it('docs/quick-start/sign-in-a-user.md: auth starts in the strict profile with the settings of npm start', () => {
  const document = examples.filter((one) => one.document === 'docs/quick-start/sign-in-a-user.md')
  const env: Record<string, string> = {}
  Object.assign(env, parseEnv(document.find(({ text }) => text.startsWith('AUTH_PROFILE='))?.text ?? ''))
  const [auth] = planStack({ root, program: '', env, names: ['auth'], isWatched: false }).services
  const given = environmentOf(auth?.definition ?? expect.fail('not planned'), env, {
    databaseUrl: 'postgres://localhost/a',
    secrets: loadSecrets(join(createFolder(), 'secrets.env')),
    smtpPort: 1025,
    homeUrl: 'http://localhost:8083',
    movedLogDirectory: undefined,
    compileCache: '',
  })
  const { redirects, pkce } = loadAuthConfig(given).signup
  expect([pkce, refusedBy('http://localhost:3000/', redirects)]).toEqual(['required', undefined])
})

it('docs/architecture.md: the setting reads numbers in its range, and has its default and meaning', () => {
  const { MAX_LIMIT } = new Function('integer', `return {${exampleOf('docs/architecture.md', 'ts')}}`)(integer)
  const setting = z.instanceof(z.ZodType).parse(MAX_LIMIT)
  expect([undefined, '7', '10000'].map((value) => setting.parse(value))).toEqual([500, 7, 10_000])
  expect(setting.safeParse('10001').success).toBe(false)
  expect(setting.description).toBe('Most products of a page.')
})
