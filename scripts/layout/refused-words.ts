import type { ParamPattern } from 'oxc-parser'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'
import { commentsOf, lineAt, visitSyntax } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

const GLOSSARY = 'docs/glossary.md'
/** This rule and its test hold examples of what they refuse. */
const OWN_FILES = /^scripts\/layout\/refused-words(\.test)?\.ts$/
/** A decision names what it rejected, and releases are described in the words of their time. */
const UNCHECKED = /^(docs\/glossary\.md|docs\/decisions\/.*|docs\/openapi\/.*|CHANGELOG\.md)$/

/**
 * Words of the column *Not* that also have a meaning of their own, which a program cannot tell from the refused one. A reader
 * of a change looks for these.
 */
export const ORDINARY: ReadonlySet<string> = new Set(
  [
    // Words of everyday English, of TypeScript and of HTTP.
    'reply, result, batch, chunk, duplicate, option, parameter, callback, notification, owner, build, version, set up',
    'queue, message, handler, worker, patch, channel, encrypt, wrap, replica, try',
    'attempt, mode, block, lock, device, plugin, webhook, authentication, authenticate, member',
    'return, operation, action, order, payment, charge, value, user, client, case, entry, log, history, right, claim',
    'fault, issue',
    'move, hold, release, fail, failure, refuse, account, signal, transfer, shop, credit, gross, price, in stock',
    'application, transaction, quantity, free, cancel, confirm, item, held, store, root, base path, package',
    'adapter, resource, bundle, manifest, router, settle, decline',
    // Words of PostgreSQL, of Fastify, and of other services for what is theirs.
    'superuser, administrator, register, join, tenant, realm, customer, consumer, request token, retry',
    // Names that clients, tables and settings of supabase/auth or of these services have.
    'OTP, app key, throttle, linked account, promote, posting, settlement, booking, POS',
    'pay-by-link, dry run, secret key, cardholder, bearer token',
    // The field of a merchant for who owns its bank account.
    'holder',
  ].flatMap((words) => words.split(', ')),
)

/** Texts that hold a refused word and stay, because somebody else wrote them. */
const ALLOWED = new RegExp(
  [
    // The action of the audit log, a field of providers, and the attribute of a role of PostgreSQL: `login`, `loginOf`.
    '^login(?: Of)?$',
    // A product of Facebook.
    'Limited Login',
    // A fixed text of the reference.
    '[Ii]nvalid login credentials',
    // A setting of Patroni, a chapter of the OWASP ASVS, and what a mail server enforces.
    'master start timeout',
    '[Ww]eb [Ff]rontend [Ss]ecurity',
    'sender refused, quota',
    // IP networks, and a field of the protocol of acquirers. What the glossary calls a scheme is a network of cards.
    '(?:inside a|own|IPv6|by its|needs no) networks?\\b',
    'addresses and networks\\b',
    '^network Ref$',
  ].join('|'),
  'g',
)

/**
 * Phrases with a word of `ORDINARY` that are refused, because the word has the meaning of the column *Not* there. Each stands
 * with the term to say instead.
 */
const PHRASES: readonly (readonly [phrase: RegExp, term: string])[] = [
  [/\b(?:hold|holds|holding|held) (?:\w+ )?(?:stock|(?:\w+ )?for an? (?:buyer|order))\b/g, 'reserve'],
  [/\bstock (?:that )?(?:(?:is|was) )?held\b/g, 'reserved'],
  [/\breservations? (?:hold|holds|held)\b/g, 'keep'],
]

/** The refused words of a section of the glossary, each with the terms to say instead. */
interface Section {
  /** The service or package that the section is about; undefined: all of them. */
  readonly name: string | undefined
  readonly termsOf: ReadonlyMap<string, readonly string[]>
  /** Any of the words, or an inflection. The first group is the word. */
  readonly pattern: RegExp
}

/** A text that people read: a comment, a title, a declared name or a line of a document. */
interface Passage {
  readonly text: string
  readonly line: number
}

/**
 * One thing has one name. A word of the column *Not* of the glossary stands in no comment, no title of a test, no name that
 * a file declares and no document. Code in backticks is left alone, and so are the words of `ORDINARY`.
 */
export const refusedWords: Rule = (tree) => {
  const sections = readGlossary(tree)
  return tree.files
    .filter(({ path }) => !UNCHECKED.test(path) && !OWN_FILES.test(path))
    .flatMap((file) => {
      const here = sections.filter(({ name }) => name === undefined || isAbout(file.path, name))
      return passagesOf(file).flatMap((passage) => [
        ...here.flatMap((section) => judge(file, passage, section)),
        ...judgePhrases(file, passage),
      ])
    })
}

function readGlossary(tree: SourceTree): readonly Section[] {
  const text = tree.files.find(({ path }) => path === GLOSSARY)?.text ?? ''
  return text.split(/^## /m).flatMap((part) => {
    const title = /^.*/.exec(part)?.[0] ?? ''
    const termsOf = refusedIn(part)
    const words = [...termsOf.keys()].map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const pattern = new RegExp(`(?<![\\w/])(${words.join('|')})(?:s|es|ed|ing)?(?![\\w/])`, 'g')
    return words.length === 0 ? [] : [{ name: /^[a-z]+$/.test(title) ? title : undefined, termsOf, pattern }]
  })
}

/** The words of the column *Not* in lower case, with the terms of their rows. */
function refusedIn(section: string): ReadonlyMap<string, readonly string[]> {
  const termsOf = new Map<string, readonly string[]>()
  for (const [, term = '', column = ''] of section.matchAll(/^\| (?!Term )(\w.+?) \| .+ \| ([^|]+?) \|$/gm)) {
    const words = column.replaceAll(/\([^)]*\)/g, '').split(',')
    for (const word of words.map((each) => each.trim()).filter((each) => each !== '' && !ORDINARY.has(each))) {
      const plain = plainOf(word)
      termsOf.set(plain, [...(termsOf.get(plain) ?? []), term])
    }
  }
  return termsOf
}

/** In lower case, and with spaces for hyphens. */
function plainOf(text: string): string {
  return text.toLowerCase().replaceAll('-', ' ')
}

function isAbout(path: string, section: string): boolean {
  const folders = [`services/${section}/`, `packages/${section}/`, `migrations/${section}/`]
  return folders.some((folder) => path.startsWith(folder)) || path === `docs/reference/${section}.md`
}

function judge(file: SourceFile, { text, line }: Passage, { pattern, termsOf }: Section): readonly Problem[] {
  return [...plainOf(text.replaceAll(ALLOWED, '')).matchAll(pattern)].map(([found, word = '']) => {
    const terms = (termsOf.get(word) ?? []).map((term) => `"${term}"`).join(' or ')
    return { path: file.path, line, message: `says "${found}", which the glossary refuses: say ${terms}` }
  })
}

function judgePhrases({ path }: SourceFile, { text, line }: Passage): readonly Problem[] {
  return PHRASES.flatMap(([phrase, term]) =>
    [...plainOf(text).matchAll(phrase)].map(([found]) => ({
      path,
      line,
      message: `says "${found}", which the glossary refuses: say "${term}"`,
    })),
  )
}

function passagesOf(file: SourceFile): readonly Passage[] {
  if (file.path.endsWith('.ts')) return [...commentPassages(file), ...titlesOf(file), ...declaredNames(file)]
  if (file.path.endsWith('.sql')) {
    return linesOf(file.text).flatMap(({ text, line }) => ({ text: /--(.*)/.exec(text)?.[1] ?? '', line }))
  }
  return file.path.endsWith('.md') ? linesOf(withoutBlocks(file.text)).map(prose) : []
}

function commentPassages(file: SourceFile): readonly Passage[] {
  return commentsOf(file).flatMap(({ value, start }) =>
    linesOf(value).map(({ text, line }) => prose({ text, line: line + lineAt(file.text, start) - 1 })),
  )
}

function titlesOf(file: SourceFile): readonly Passage[] {
  if (!file.path.endsWith('.test.ts')) return []
  return titledCallsOf(file)
    .filter(({ form }) => form !== 'expression')
    .map(({ title, start }) => prose({ text: title, line: lineAt(file.text, start) }))
}

/**
 * Names of variables, functions, parameters, types and their members. Names in snake case belong to tables,
 * requests and others.
 */
function declaredNames(file: SourceFile): readonly Passage[] {
  const found: Passage[] = []
  const add = (name: string, start: number): void => {
    if (!/^[a-z\d]+(_[a-z\d]+)+$/.test(name)) found.push({ text: wordsOf(name), line: lineAt(file.text, start) })
  }
  const addAll = (params: readonly ParamPattern[]): void => {
    for (const param of params) if (param.type === 'Identifier') add(param.name, param.start)
  }
  visitSyntax(file, {
    FunctionDeclaration: ({ id, params, start }) => {
      if (id) add(id.name, start)
      addAll(params)
    },
    FunctionExpression: ({ params }) => addAll(params),
    ArrowFunctionExpression: ({ params }) => addAll(params),
    VariableDeclarator: ({ id, start }) => id.type === 'Identifier' && add(id.name, start),
    TSInterfaceDeclaration: ({ id, start }) => add(id.name, start),
    TSTypeAliasDeclaration: ({ id, start }) => add(id.name, start),
    TSPropertySignature: ({ key, start }) => key.type === 'Identifier' && add(key.name, start),
  })
  return found
}

/** `findLogin` is `find login`. */
function wordsOf(name: string): string {
  return name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ')
}

function linesOf(text: string): readonly Passage[] {
  return text.split('\n').map((content, i) => ({ text: content, line: i + 1 }))
}

/** Without code, links and addresses. */
function prose({ text, line }: Passage): Passage {
  return { text: text.replaceAll(/`[^`]*`|\]\([^)]*\)|https?:\S+/g, ''), line }
}

/** Code blocks are left empty. Lines keep their numbers. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, (block) => block.replaceAll(/[^\n]/g, ''))
}
