import type { Expression, Node, VariableDeclarator } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf, visitSyntax } from './syntax.ts'

/** State that belongs to the whole process, and why a test file cannot disturb the next one through it. */
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
/** Programs that no file imports, and the test set-up itself. */
const EXEMPT = /^packages\/(stack|testing)\/|^packages\/[^/]+\/(examples|scripts|test)\//
const COLLECTIONS: ReadonlySet<string> = new Set(['Map', 'Set'])
/** Methods that change an array, or a Map or Set that is a member of an object. */
const CHANGES = /^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear)$/
/** Functions of `Object` and `Reflect` that change their first argument. */
const CHANGES_OF_FIRST = /^(assign|definePropert(y|ies)|set|setPrototypeOf|deleteProperty)$/

/**
 * Modules keep no state: no `let`, no Map or Set that can be changed, and no object or array that the module changes. Test files
 * share modules, so the state of one test file would affect the next. A WeakMap is allowed, because its entries end with the
 * objects that they belong to.
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
  const changed = changedNames(file)
  return programOf(file).body.flatMap((statement) => {
    const isExported = statement.type === 'ExportNamedDeclaration'
    const declaration = isExported ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') return []
    const { kind, declarations } = declaration
    return declarations
      .filter(
        (each) =>
          kind === 'let' ||
          kind === 'var' ||
          (isCollection(file, each) && (isExported || isChanged(file, each))) ||
          (isLiteral(each.init) && each.id.type === 'Identifier' && changed.has(each.id.name)),
      )
      .map(({ start }) => ({
        path: file.path,
        line: lineAt(file.text, start),
        message: 'a module keeps no state: make it in a function, or give it the type ReadonlyMap or ReadonlySet',
      }))
  })
}

/** Whether a constant is a Map or Set without a read-only type. */
function isCollection({ text }: SourceFile, { id, init }: VariableDeclarator): boolean {
  if (id.type !== 'Identifier' || init?.type !== 'NewExpression') return false
  if (init.callee.type !== 'Identifier' || !COLLECTIONS.has(init.callee.name)) return false
  const stated = id.typeAnnotation?.typeAnnotation
  return !stated || !/^Readonly(Map|Set)\b/.test(text.slice(stated.start, stated.end))
}

function isChanged({ text }: SourceFile, { id }: VariableDeclarator): boolean {
  return id.type === 'Identifier' && new RegExp(`\\b${id.name}\\.(set|add|delete|clear)\\(`).test(text)
}

/** Whether a value is an object or array literal, with any declared type. */
function isLiteral(value: Expression | null): boolean {
  if (value?.type === 'TSAsExpression' || value?.type === 'TSSatisfiesExpression') return isLiteral(value.expression)
  return value?.type === 'ObjectExpression' || value?.type === 'ArrayExpression'
}

/** The names of variables whose members a file changes. */
function changedNames(file: SourceFile): ReadonlySet<string> {
  const names = new Set<string>()
  const addOwner = (node: Node): void => {
    if (node.type === 'MemberExpression') addOwner(node.object)
    if (node.type === 'Identifier') names.add(node.name)
  }
  const addOwnerOfMember = (node: Node): void => {
    if (node.type === 'MemberExpression') addOwner(node)
  }
  visitSyntax(file, {
    AssignmentExpression: ({ left }) => addOwnerOfMember(left),
    UpdateExpression: ({ argument }) => addOwnerOfMember(argument),
    UnaryExpression({ operator, argument }) {
      if (operator === 'delete') addOwnerOfMember(argument)
    },
    CallExpression({ callee, arguments: [first] }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const { object, property } = callee
      if (CHANGES.test(property.name)) addOwner(object)
      const isStatic = object.type === 'Identifier' && /^(Object|Reflect)$/.test(object.name)
      if (isStatic && first && CHANGES_OF_FIRST.test(property.name)) addOwner(first)
    },
  })
  return names
}
