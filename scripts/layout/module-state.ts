import type { VariableDeclarator } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf } from './syntax.ts'

/** State that belongs to a process as a whole, and why a test file cannot disturb the next one by it. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['packages/common/src/connections/release-memory.ts', 'counts bytes of the one heap of the process'],
  [
    'packages/common/src/telemetry/line-buffer.ts',
    'the lines to write when the process ends; each buffer adds its own',
  ],
  ['packages/common/src/telemetry/path-of.ts', 'a pattern for each route, which follows from its text alone'],
  ['packages/endpoints/src/discovery/import-graph.ts', 'the imports of the process, which the runtime reports once'],
  ['packages/endpoints/src/request/endpoint-request.ts', 'the next request id, which differs each time anyway'],
])
/** Programs that nothing imports, and the set-up of the tests themselves. */
const EXEMPT = /^packages\/(stack|testing)\/|^packages\/[^/]+\/(examples|scripts|test)\//
const COLLECTIONS: ReadonlySet<string> = new Set(['Map', 'Set'])

/**
 * No module keeps state: a `let`, or a Map or Set that it changes or lets others change. Test files share modules, so state of
 * one file would reach the next. A WeakMap is no such state: what it keeps belongs to an object and goes with it.
 */
export const moduleState: Rule = (tree) => {
  const found = productionFiles(tree, 'services', 'packages', 'migrations')
    .filter(({ path }) => !EXEMPT.test(path))
    .flatMap(stateOf)
  const surplus = [...EXCEPTIONS.keys()].filter(
    (path) => tree.files.some((file) => file.path === path) && !found.some((problem) => problem.path === path),
  )
  return [
    ...found.filter(({ path }) => !EXCEPTIONS.has(path)),
    ...surplus.map((path) => ({ path, message: 'keeps no state: take it from the exceptions of module-state.ts' })),
  ]
}

function stateOf(file: SourceFile): readonly Problem[] {
  return programOf(file).body.flatMap((statement) => {
    const isExported = statement.type === 'ExportNamedDeclaration'
    const declaration = isExported ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') return []
    const { kind, declarations } = declaration
    return declarations
      .filter(
        (each) =>
          kind === 'let' || kind === 'var' || (isCollection(file, each) && (isExported || isChanged(file, each))),
      )
      .map(({ start }) => ({
        path: file.path,
        line: lineAt(file.text, start),
        message: 'a module keeps no state: make it in a function, or give it the type ReadonlyMap or ReadonlySet',
      }))
  })
}

/** Whether a constant is a Map or Set without a type that forbids changes. */
function isCollection({ text }: SourceFile, { id, init }: VariableDeclarator): boolean {
  if (id.type !== 'Identifier' || init?.type !== 'NewExpression') return false
  if (init.callee.type !== 'Identifier' || !COLLECTIONS.has(init.callee.name)) return false
  const stated = id.typeAnnotation?.typeAnnotation
  return !stated || !/^Readonly(Map|Set)\b/.test(text.slice(stated.start, stated.end))
}

function isChanged({ text }: SourceFile, { id }: VariableDeclarator): boolean {
  return id.type === 'Identifier' && new RegExp(`\\b${id.name}\\.(set|add|delete|clear)\\(`).test(text)
}
