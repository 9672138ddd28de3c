import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf, lineAt, visitSyntax } from './syntax.ts'

const FOLDERS = [
  'services',
  'packages/citus',
  'packages/common',
  'packages/database',
  'packages/jobs',
  'packages/operators',
  'packages/rate-limits',
  'packages/service',
]

/** Files that may open a connection without the guarded client, with reasons. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['packages/common/src/outbound/', 'the guarded client itself'],
  ['packages/common/src/server/node-http.ts', 'takes createServer and STATUS_CODES, and opens nothing'],
  ['packages/database/src/driver/pool.ts', 'cancels at PostgreSQL, whose address only a setting names'],
  ['packages/database/src/driver/hosts.ts', 'asks whether a PostgreSQL answers, whose address only a setting names'],
  ['packages/database/src/driver/pipelined-clients.ts', 'the socket of PostgreSQL, whose address only a setting names'],
  ['packages/rate-limits/src/limiter-store.ts', 'Redis, whose address only a setting names'],
  ['services/auth/src/messages/mailer.ts', 'the mail server, whose address only a setting names'],
  [
    'services/auth/src/messages/gateways/twilio.ts',
    'puts the guarded client in the place of the transport of its library',
  ],
  ['services/payments/src/mail/mailer.ts', 'the mail server, whose address only a setting names'],
])

/** Exports of these Node.js modules that open no connection. */
const HARMLESS: ReadonlySet<string> = new Set([
  'createServer',
  'Server',
  'STATUS_CODES',
  'METHODS',
  'isIP',
  'isIPv4',
  'isIPv6',
])
const NODE_CLIENTS = /^(node:)?(http|https|http2|net|tls|dgram)$/
/** Libraries that open connections. `pg` is omitted, because only `packages/database` uses it, with an address from a setting. */
const LIBRARIES = /^(undici|axios|got|ky|needle|node-fetch|superagent|ws|nodemailer|ioredis|redis|twilio)(\/|$)/
/** Functions of oauth4webapi that call the global `fetch` by default. */
const OAUTH_REQUEST = /Request$/
const GLOBALS: ReadonlySet<string> = new Set(['fetch', 'WebSocket', 'EventSource'])

/**
 * Services call other servers only through `packages/common/src/outbound`. That client checks the address, follows no redirects
 * and limits the answer. With any other client, a URL from a stranger could reach the internal network.
 */
export const outboundCalls: Rule = (tree) =>
  productionFiles(tree, ...FOLDERS)
    .filter(({ path }) => ![...EXCEPTIONS.keys()].some((place) => path.startsWith(place)))
    .flatMap((file) => [...importProblems(file), ...callProblems(file)])

function importProblems(file: SourceFile): readonly Problem[] {
  return importsOf(file).flatMap((imported) => {
    const { specifier, names, line } = imported
    if (isClient(imported)) return [problem(file, line, specifier)]
    if (specifier !== 'oauth4webapi' || names.includes('customFetch')) return []
    return names.some((name) => OAUTH_REQUEST.test(name))
      ? [problem(file, line, `${specifier} without customFetch`)]
      : []
  })
}

function isClient({ specifier, names, isType, isWhole }: ImportedModule): boolean {
  if (isType) return false
  if (LIBRARIES.test(specifier)) return true
  return NODE_CLIENTS.test(specifier) && (isWhole || names.some((name) => !HARMLESS.has(name)))
}

function callProblems(file: SourceFile): readonly Problem[] {
  const found: Problem[] = []
  const judge = (node: Node | null | undefined): void => {
    if (node && GLOBALS.has(nameOf(node))) found.push(problemAt(node, nameOf(node)))
  }
  const problemAt = ({ start }: Node, what: string): Problem => problem(file, lineAt(file.text, start), what)
  visitSyntax(file, {
    CallExpression(node) {
      judge(node.callee)
      node.arguments.forEach(judge)
      const [module] = node.arguments
      const isBuiltin = node.callee.type === 'MemberExpression' && nameOf(node.callee.property) === 'getBuiltinModule'
      if (isBuiltin && module?.type === 'Literal' && NODE_CLIENTS.test(String(module.value))) {
        found.push(problemAt(node, String(module.value)))
      }
    },
    NewExpression(node) {
      judge(node.callee)
    },
    Property(node) {
      judge(node.value)
    },
    VariableDeclarator(node) {
      judge(node.init)
    },
    MemberExpression(node) {
      const name = nameOf(node.property)
      if (nameOf(node.object) === 'globalThis' && GLOBALS.has(name)) found.push(problemAt(node, name))
    },
    Identifier(node) {
      if (node.name === 'createRemoteJWKSet') found.push(problemAt(node, node.name))
    },
  })
  return found
}

interface Node {
  readonly type: string
  readonly start: number
  readonly name?: unknown
}

function nameOf(node: Node): string {
  return node.type === 'Identifier' ? String(node.name) : ''
}

function problem({ path }: SourceFile, line: number, what: string): Problem {
  return { path, line, message: `${what} calls past the guarded client: use packages/common/src/outbound` }
}
