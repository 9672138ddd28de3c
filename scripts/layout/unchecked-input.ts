import type {
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  Function as FunctionNode,
  NewExpression,
  TSType,
} from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const FOLDERS = ['services', 'packages', 'migrations', 'bench', 'scripts', 'examples']
/** Functions that return JSON with a type, and why the type is correct. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['packages/endpoints/src/openapi/schemas.ts', 'copies a schema that it has just written as JSON'],
])
const READERS = /^(safeParse|parse|stringify)(Async)?$/
const SCHEMA = 'parse it with a schema, or call it unknown'
const BOXED = 'Object(…) is any, which switches the compiler off: narrow the value, or parse it with a schema'

const SHAPE = 'states the members of a value: parse it with a schema, or give its source a type'
const MEMBER = 'Reflect.get(…) is any, which switches the compiler off: call it unknown, or parse it with a schema'

/**
 * External data have no type until a schema has read them. So no code declares the type of `JSON.parse(…)` or `response.json()`,
 * or the members of a value, such as a row, with `as { … }`. Nothing is `any`, including the result of `Object(…)`. Outside
 * tests, such JSON may only be passed to a schema, assigned to a variable of type `unknown`, or returned as `unknown`. Only a
 * schema's `parse`, `String` and `stringify` take it as an argument. The same applies to `Reflect.get(…)`.
 */
export const uncheckedInput: Rule = (tree) => {
  const production = new Set(productionFiles(tree, ...FOLDERS))
  return tree.files
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap((file) => problemsOf(file, { isProduction: production.has(file) }))
}

function problemsOf(file: SourceFile, { isProduction }: { readonly isProduction: boolean }): readonly Problem[] {
  const problems: Problem[] = []
  const refuse = ({ start }: { readonly start: number }, message: string): void => {
    problems.push({ path: file.path, line: lineAt(file.text, start), message })
  }
  const functions: (FunctionNode | ArrowFunctionExpression)[] = []
  const leave = (): void => void functions.pop()
  const enter = (node: FunctionNode | ArrowFunctionExpression): void => {
    functions.push(node)
    if (node.type === 'ArrowFunctionExpression' && node.body.type !== 'BlockStatement') checkReturn(node.body)
  }
  const checkReturn = (value: Expression | null): void => {
    const stated = functions.at(-1)?.returnType
    const isFree = stated && /\bunknown\b/.test(file.text.slice(stated.start, stated.end))
    if (value === null || !isProduction || isFree || EXCEPTIONS.has(file.path)) return
    if (isJson(value)) refuse(value, `returns JSON without a check: ${SCHEMA}`)
    if (isMember(value)) refuse(value, MEMBER)
  }
  const checkArguments = ({ callee, arguments: values }: CallExpression | NewExpression): void => {
    if (!isProduction || readsUnknown(callee)) return
    for (const value of values) {
      if (value.type === 'SpreadElement' || !isJson(value) || statesType(value)) continue
      refuse(value, `hands JSON on without a check: ${SCHEMA}`)
    }
  }
  visitSyntax(file, {
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    ReturnStatement: ({ argument }) => checkReturn(argument),
    TSAnyKeyword: (node) => refuse(node, 'any switches the compiler off: use unknown'),
    TSAsExpression(node) {
      if (isJson(node.expression) && !isUnknown(node.typeAnnotation)) refuse(node, `states the type of JSON: ${SCHEMA}`)
      if (isShape(node.typeAnnotation)) refuse(node, SHAPE)
    },
    VariableDeclarator(node) {
      if (!isProduction || isUnknown(node.id.typeAnnotation?.typeAnnotation)) return
      if (isJson(node.init)) refuse(node, `reads JSON without a check: ${SCHEMA}`)
      if (isMember(node.init)) refuse(node, MEMBER)
    },
    MemberExpression(node) {
      if (isProduction && isJson(node.object)) refuse(node, `reads JSON without a check: ${SCHEMA}`)
      if (isProduction && isMember(node.object)) refuse(node, MEMBER)
    },
    SpreadElement(node) {
      if (isProduction && isMember(node.argument)) refuse(node, MEMBER)
    },
    NewExpression: checkArguments,
    CallExpression(node) {
      checkArguments(node)
      if (isProduction && isJson(node) && node.typeArguments) refuse(node, `states the type of JSON: ${SCHEMA}`)
      if (node.callee.type === 'Identifier' && node.callee.name === 'Object') refuse(node, BOXED)
    },
  })
  return problems
}

function isUnknown(type: TSType | undefined): boolean {
  return type?.type === 'TSUnknownKeyword'
}

/** Whether a function accepts any value: the `parse` of a schema, or a conversion to text. */
function readsUnknown(callee: Expression): boolean {
  if (callee.type === 'Identifier') return callee.name === 'String'
  return (
    callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && READERS.test(callee.property.name)
  )
}

/** Whether an expression calls `JSON.parse` or `json` without arguments, with or without `await`. `z.json()` is a schema. */
function isJson(expression: Expression | null): boolean {
  if (expression?.type === 'AwaitExpression') return isJson(expression.argument)
  if (expression?.type === 'ParenthesizedExpression') return isJson(expression.expression)
  if (expression?.type !== 'CallExpression' || expression.callee.type !== 'MemberExpression') return false
  const { object, property } = expression.callee
  if (property.type !== 'Identifier') return false
  if (property.name === 'parse') return object.type === 'Identifier' && object.name === 'JSON'
  const isSchema = object.type === 'Identifier' && object.name === 'z'
  return property.name === 'json' && expression.arguments.length === 0 && !isSchema
}

/** Whether a call declares its result type. Another check refuses such calls. */
function statesType(call: Expression): boolean {
  return call.type === 'CallExpression' && Boolean(call.typeArguments)
}

/** Whether an expression calls `Reflect.get`, or may do so. */
function isMember(expression: Expression | null): boolean {
  switch (expression?.type) {
    case 'ParenthesizedExpression':
      return isMember(expression.expression)
    case 'LogicalExpression':
      return isMember(expression.left) || isMember(expression.right)
    case 'ConditionalExpression':
      return isMember(expression.consequent) || isMember(expression.alternate)
    case 'CallExpression': {
      const { callee } = expression
      if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return false
      return callee.object.name === 'Reflect' && callee.property.type === 'Identifier' && callee.property.name === 'get'
    }
    default:
      return false
  }
}

/** Whether a type is a literal type with members, or a list of such types. */
function isShape(type: TSType): boolean {
  if (type.type === 'TSArrayType') return isShape(type.elementType)
  if (type.type === 'TSTypeOperator' && type.operator === 'readonly') return isShape(type.typeAnnotation)
  return type.type === 'TSTypeLiteral'
}
