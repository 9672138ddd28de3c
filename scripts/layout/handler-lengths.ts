import type { ArrowFunctionExpression, Function as FunctionNode } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Lines of the body, without those of its braces. */
const LINES_MAX = 10

const HANDLER_FILE = /^services\/[^/]+\/src\/(routes|controllers)\//
const METHOD = /^(get|head|post|put|patch|delete|options)$/i
const REQUEST = /^_?req(uest)?$/
const REPLY = /^_?(rep|reply|res|response)$/

type Handler = FunctionNode | ArrowFunctionExpression

/**
 * A handler reads the request, calls one use case and forms the answer. Longer handlers decide something, which belongs to a use
 * case or to a function with a name.
 */
export const handlerLengths: Rule = (tree) =>
  productionFiles(tree, 'services')
    .filter(({ path }) => HANDLER_FILE.test(path))
    .flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  return handlersOf(file).flatMap(({ body, start }): Problem[] => {
    if (!body) return []
    const lines =
      lineAt(file.text, body.end) - lineAt(file.text, body.start) + (body.type === 'BlockStatement' ? -1 : 1)
    if (lines <= LINES_MAX) return []
    const message = `the handler has ${lines} lines, more than ${LINES_MAX}: give what it decides to a use case`
    return [{ path: file.path, line: lineAt(file.text, start), message }]
  })
}

/**
 * Functions that are given to `app.get(…)` and the like, also as the `handler` of its options, or take `request` and `reply`, and
 * methods such as `GET`.
 */
function handlersOf(file: SourceFile): readonly Handler[] {
  const found = new Map<number, Handler>()
  const add = (handler: Handler): void => void found.set(handler.start, handler)
  const addIfNamed = (handler: Handler): void => {
    const names = handler.params.map((parameter) => (parameter.type === 'Identifier' ? parameter.name : ''))
    if (REQUEST.test(names[0] ?? '') && REPLY.test(names[1] ?? '')) add(handler)
  }
  visitSyntax(file, {
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const last = given.at(-1)
      if (!METHOD.test(callee.property.name) || given.length < 2) return
      if (last?.type === 'ArrowFunctionExpression' || last?.type === 'FunctionExpression') add(last)
    },
    Property({ key, value }) {
      const isHandler = key.type === 'Identifier' && key.name === 'handler'
      if (isHandler && (value.type === 'ArrowFunctionExpression' || value.type === 'FunctionExpression')) add(value)
    },
    ArrowFunctionExpression: addIfNamed,
    FunctionDeclaration: addIfNamed,
    MethodDefinition({ key, value }) {
      if (key.type === 'Identifier' && METHOD.test(key.name)) add(value)
    },
  })
  return [...found.values()]
}
