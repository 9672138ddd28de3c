// Prints size and dependency metrics of the sources: `node scripts/measures.ts [commit…]`. Without a commit it measures the
// working tree. Tests are counted separately.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { graphOf, type ImportGraph } from './layout/import-graph.ts'
import {
  productionFiles,
  readSourceTree,
  type SourceFile,
  type SourceTree,
  serviceNames,
} from './layout/source-tree.ts'
import { lineAt, visitSyntax } from './layout/syntax.ts'

const FUNCTION_LINES_MAX = 60
const DOCUMENT = 'docs/architecture.md'
const STEP = /^\d+\. \[[^\]]*\]\(([^)#]+)\)/

interface Measures {
  readonly files: number
  readonly lines: number
  readonly linesMedian: number
  readonly linesP95: number
  readonly linesMax: number
  /** The number of folders below `src`. */
  readonly folders: number
  readonly useCases: number
  readonly functionMedian: number
  readonly longFunctions: number
}

export function measure(tree: SourceTree, ...folders: readonly string[]): Measures {
  const files = productionFiles(tree, ...folders)
  const lengths = files.map(({ text }) => text.split('\n').length - 1)
  const functions = files.flatMap(functionLengths)
  const paths = files.map(({ path }) => path)
  return {
    files: files.length,
    lines: lengths.reduce((sum, length) => sum + length, 0),
    linesMedian: quantile(lengths, 0.5),
    linesP95: quantile(lengths, 0.95),
    linesMax: quantile(lengths, 1),
    folders: new Set(paths.map((path) => posix.dirname(path)).filter((path) => /\/src\/./.test(path))).size,
    useCases: paths.filter((path) => /\/use-cases\//.test(path)).length,
    functionMedian: quantile(functions, 0.5),
    longFunctions: functions.filter((length) => length > FUNCTION_LINES_MAX).length,
  }
}

/** The number of lines of each function with a block. */
function functionLengths(file: SourceFile): readonly number[] {
  const lengths: number[] = []
  const count = ({ start, end, body }: { start: number; end: number; body: { type: string } | null }) => {
    if (body === null || !/^(BlockStatement|FunctionBody)$/.test(body.type)) return
    lengths.push(lineAt(file.text, end) - lineAt(file.text, start) + 1)
  }
  visitSyntax(file, { FunctionDeclaration: count, FunctionExpression: count, ArrowFunctionExpression: count })
  return lengths
}

/** The smallest number that at least this share of the numbers does not exceed. 0 if there are no numbers. */
function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

/** Groups of files that all import each other, directly or indirectly, including imports of types. */
export function cyclesOf(graph: ImportGraph): readonly (readonly string[])[] {
  const reached = new Map([...graph.keys()].map((path) => [path, reachableFrom(path, graph)]))
  const inCycles = [...graph.keys()].filter((path) => reached.get(path)?.has(path))
  const groups = inCycles.map((path) =>
    inCycles.filter((other) => reached.get(path)?.has(other) && reached.get(other)?.has(path)),
  )
  return groups.filter((group, index) => group[0] === inCycles[index])
}

function reachableFrom(
  start: string,
  graph: ImportGraph,
  isCounted: (path: string) => boolean = () => true,
): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [start]
  for (const path of waiting) {
    for (const target of graph.get(path) ?? []) {
      if (reached.has(target) || !isCounted(target)) continue
      reached.add(target)
      waiting.push(target)
    }
  }
  return reached
}

/**
 * Counts the files of each act of a service and the files in the type closure of each use case, without tests and `deps.ts`. An
 * act is a route or controller, its use cases, and the direct imports of all these.
 */
export function actsOf(
  graph: ImportGraph,
  service: string,
): { readonly acts: readonly number[]; readonly closures: readonly number[] } {
  const src = `services/${service}/src`
  const isCounted = (path: string) =>
    /^(services|packages)\//.test(path) && !/\.test\.ts$|\/test\//.test(path) && path !== `${src}/deps.ts`
  const importsOf = (path: string) => (graph.get(path) ?? []).filter(isCounted)
  const paths = [...graph.keys()].filter(isCounted)
  const isUseCase = (path: string) => path.startsWith(`${src}/use-cases/`)
  const entries = paths.filter((path) => new RegExp(`^${src}/(routes|controllers)/`).test(path))
  const acts = entries.map((entry) => {
    const own = [entry, ...importsOf(entry).filter(isUseCase)]
    return new Set([...own, ...own.flatMap(importsOf)]).size
  })
  const closures = paths.filter(isUseCase).map((path) => {
    const reached = reachableFrom(path, graph, (target) => /^(services|packages)\//.test(target))
    return new Set([path, ...reached]).size
  })
  return { acts, closures }
}

export function report(tree: SourceTree): string {
  const areas: readonly (readonly [name: string, ...folders: readonly string[]])[] = [
    ...serviceNames(tree).map((service) => [service, `services/${service}`] as const),
    ...(['packages', 'migrations', 'scripts', 'bench'] as const).map((folder) => [folder, folder] as const),
    ['without bench', 'services', 'packages', 'migrations', 'scripts'],
  ]
  const measured = areas.map(([name, ...folders]) => ({ name, ...measure(tree, ...folders) }))
  const rows = [Object.keys(measured[0] ?? {}), ...measured.map((row) => Object.values(row))]
  const table = rows.map((row) => row.map((cell, index) => (index === 0 ? `${cell}`.padEnd(14) : pad(cell))).join(''))
  const tests = tree.files.filter(({ path }) => path.endsWith('.test.ts'))
  const functions = tree.files.filter(({ path }) => /^migrations\/.*\.sql$/.test(path))
  const sqlLines = functions.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
  const total = measure(tree, 'services', 'packages', 'migrations', 'scripts', 'bench')
  const rooms = measure(tree, 'services', 'packages')
  const graph = graphOf(tree)
  const cycles = cyclesOf(graph)
  return [
    ...table,
    `${tests.length} test files, ${functions.length} .sql files`,
    `${cycles.length} cycles of imports, types counted${cycles.map((group) => `; one of ${group.length} files`).join('')}`,
    `${total.lines + sqlLines} production lines, SQL counted; ${rooms.files} production files of services and packages`,
    ...serviceNames(tree).map((service) => {
      const { acts, closures } = actsOf(graph, service)
      return `${service}: an act has ${quantile(acts, 0.5)} files (median of ${acts.length}), a use case reaches ${quantile(closures, 0.5)}`
    }),
    ...readDataPaths(tree).map(({ title, files }) => `${files.length} files crossed: ${title}`),
  ].join('\n')
}

/** A path of one value from a request to its row. */
interface DataPath {
  readonly title: string
  /** Paths from the root, in the order of the data path. */
  readonly files: readonly string[]
}

/** The data paths of docs/architecture.md, in sections below "## Data paths". */
function readDataPaths(tree: SourceTree): readonly DataPath[] {
  const lines = tree.files.find(({ path }) => path === DOCUMENT)?.text.split('\n') ?? []
  const start = lines.indexOf('## Data paths')
  if (start < 0) return []
  const end = lines.findIndex((text, index) => index > start && text.startsWith('## '))
  const section = lines.slice(0, end < 0 ? undefined : end)
  const headings = section.flatMap((text, index) => (index > start && text.startsWith('### ') ? [index] : []))
  return headings.map((heading, index) => {
    const own = section.slice(heading + 1, headings[index + 1])
    const targets = own.flatMap((text) => STEP.exec(text)?.[1] ?? [])
    return {
      title: section[heading]?.slice('### '.length) ?? '',
      files: targets.map((target) => posix.join(posix.dirname(DOCUMENT), target)),
    }
  })
}

function pad(cell: string | number): string {
  return `${cell}`.padStart(15)
}

function readCommit(root: string, commit: string): SourceTree {
  const folder = mkdtempSync(join(tmpdir(), 'measures-'))
  try {
    execFileSync('tar', ['-x', '-C', folder], {
      input: execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 }),
    })
    return readSourceTree(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const commits = process.argv.slice(2)
  if (commits.length === 0) console.log(report(readSourceTree(root)))
  for (const commit of commits) console.log(`${commit}\n${report(readCommit(root, commit))}\n`)
}
