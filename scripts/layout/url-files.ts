import { join, relative } from 'node:path'
import { Application } from '../../packages/endpoints/src/endpoints.ts'
import {
  type Problem,
  productionFiles,
  type Rule,
  type SourceFile,
  type SourceTree,
  serviceNames,
} from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** A call such as `app.get('/users/:id', …)`, or a handler that a URL is mapped to. */
interface Registration {
  readonly method: string
  readonly url: string
  readonly file: SourceFile
  readonly line: number
}

/** Functions that register a URL, their second argument, with the registered methods. */
const REGISTRARS: ReadonlyMap<string, readonly string[]> = new Map([
  // The console asks for confirmation (GET), then makes the change (POST).
  ['addChangeRoutes', ['GET', 'POST']],
  ['addOperationRoute', ['POST']],
  ['addOperatorOperationRoute', ['POST']],
])

const methods = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'all'])

/**
 * A URL determines its file under `routes/`: without parameters and a leading dot, and with `-` for `_`. Or the framework has
 * found the file under `controllers/`. A URL is registered in one file, each method once, and the service's README lists the same
 * URLs with the same files.
 */
export const urlFiles: Rule = async (tree) => {
  const found = await Promise.all(serviceNames(tree).map((service) => problemsOf(tree, service)))
  return found.flat()
}

async function problemsOf(tree: SourceTree, service: string): Promise<readonly Problem[]> {
  const folder = `services/${service}/src`
  const files = productionFiles(tree, folder)
  const registered = files.flatMap(registrationsOf)
  const mapped = await mappedOf(tree, `${folder}/controllers`)
  return [
    ...registered.flatMap((registration) => misplacedRegistrations(registration, folder)),
    ...repeated(registered),
    ...misplacedLiterals(files, [...registered, ...mapped]),
    ...readmeProblems(tree, service, [...registered, ...mapped]),
  ]
}

/** The routes that the framework finds in a folder of controllers. @throws Error if they cannot be loaded */
async function mappedOf(tree: SourceTree, folder: string): Promise<readonly Registration[]> {
  if (productionFiles(tree, folder).length === 0) return []
  const app = await new Application({ controllerPrefix: join(tree.root, folder) }).ready()
  return app.routes().flatMap(({ verb, pattern, source }) => {
    const file = tree.files.find(({ path }) => path === relative(tree.root, source))
    return file === undefined ? [] : [{ method: verb, url: pattern.replaceAll(/\{(\w+)\}/g, ':$1'), file, line: 1 }]
  })
}

function registrationsOf(file: SourceFile): readonly Registration[] {
  const found: Registration[] = []
  visitSyntax(file, {
    CallExpression(node) {
      const { callee, arguments: given } = node
      if (callee.type === 'Identifier') {
        const [, url] = given
        if (url?.type !== 'Literal' || !isUrl(url.value)) return
        const line = lineAt(file.text, node.start)
        for (const method of REGISTRARS.get(callee.name) ?? []) found.push({ method, url: url.value, file, line })
        return
      }
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const [first] = given
      const { name } = callee.property
      if (methods.has(name) && given.length > 1 && first?.type === 'Literal' && isUrl(first.value)) {
        found.push({ method: name.toUpperCase(), url: first.value, file, line: lineAt(file.text, node.start) })
      }
      if (name !== 'route' || first?.type !== 'ObjectExpression') return
      const values = new Map<string, readonly string[]>()
      for (const property of first.properties) {
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue
        const { value } = property
        const items = value.type === 'ArrayExpression' ? value.elements : [value]
        const texts = items.flatMap((item) => (item?.type === 'Literal' ? [String(item.value)] : []))
        values.set(property.key.name, texts)
      }
      const url = values.get('url')?.[0]
      if (!isUrl(url)) return
      for (const method of values.get('method') ?? []) {
        found.push({ method, url, file, line: lineAt(file.text, node.start) })
      }
    },
  })
  return found
}

function isUrl(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('/')
}

/** The path of the file for a URL. The root URL has the file `home.ts`. */
function placeOf(url: string, folder: string): string {
  const parts = url === '/' ? ['home'] : url.split('/').filter((part) => part !== '' && !/^[:*]/.test(part))
  const names = parts.map((part) => part.replace(/^\./, '').replaceAll('_', '-'))
  return `${folder}/routes/${names.join('/')}.ts`
}

function misplacedRegistrations({ url, file, line }: Registration, folder: string): readonly Problem[] {
  const place = placeOf(url, folder)
  return file.path === place ? [] : [{ path: file.path, line, message: `${url} belongs in ${place}` }]
}

function repeated(registrations: readonly Registration[]): readonly Problem[] {
  return registrations.flatMap((registration, i): Problem[] => {
    const { method, url, file, line } = registration
    const earlier = registrations.slice(0, i).find((other) => other.url === url)
    if (earlier === undefined) return []
    if (earlier.file.path !== file.path) {
      return [{ path: file.path, line, message: `${url} is registered in ${earlier.file.path} too` }]
    }
    const twice = registrations.slice(0, i).some((other) => other.url === url && other.method === method)
    return twice ? [{ path: file.path, line, message: `${method} ${url} is registered twice` }] : []
  })
}

/**
 * Finds registered URLs as literals in other files that handle requests: a guard by URL text, or a second place to change. Config
 * and modules may contain them as a default or as a part of a link.
 */
function misplacedLiterals(files: readonly SourceFile[], registrations: readonly Registration[]): readonly Problem[] {
  const homes = new Map(registrations.map(({ url, file }) => [url, file.path]))
  // A single slash has too many meanings to search for.
  homes.delete('/')
  const registered = new Set(registrations.map(({ url, file }) => `${url} in ${file.path}`))
  return files.flatMap((file): Problem[] => {
    if (!/\/src\/((routes|controllers|plugins|use-cases|commands)\/|(?!config\.ts)[^/]+$)/.test(file.path)) return []
    const problems: Problem[] = []
    visitSyntax(file, {
      Literal(node) {
        const home = typeof node.value === 'string' ? homes.get(node.value) : undefined
        if (home === undefined || registered.has(`${node.value} in ${file.path}`)) return
        problems.push({
          path: file.path,
          line: lineAt(file.text, node.start),
          message: `${node.value} is written here and in ${home}; a URL is written once`,
        })
      },
    })
    return problems
  })
}

/** Compares README rows such as `| GET /users | controllers/users.ts |`, both in backticks, with the sources. */
function readmeProblems(tree: SourceTree, service: string, registrations: readonly Registration[]): readonly Problem[] {
  const path = `services/${service}/README.md`
  const text = tree.files.find((file) => file.path === path)?.text
  if (text === undefined) return [{ path, message: 'is missing; it holds the table of URLs and files' }]
  const rows = new Set<string>()
  for (const line of text.split('\n')) {
    const file = /`((?:routes|controllers)\/[^`]+\.ts)`/.exec(line)?.[1]
    if (file === undefined || !line.startsWith('|')) continue
    for (const [, route] of line.matchAll(/`([A-Z]+ \/[^`]*)`/g)) rows.add(`${route} in ${file}`)
  }
  const prefix = `services/${service}/src/`
  const real = new Set(
    registrations.map(({ method, url, file }) => `${method} ${url} in ${file.path.slice(prefix.length)}`),
  )
  return [
    ...[...real].filter((row) => !rows.has(row)).map((row) => ({ path, message: `does not list ${row}` })),
    ...[...rows]
      .filter((row) => !real.has(row))
      .map((row) => ({ path, message: `lists ${row}, which is not registered` })),
  ]
}
