import { type AnyNode, type ObjectPattern, type Pattern, parseExpressionAt } from 'acorn'
import { VALUE_TEXTS } from '../error-texts.ts'
import { ValidationError } from '../errors.ts'
import {
  type Arguments,
  type Binding,
  type KeywordPattern,
  type Keywords,
  noKeywords,
  unknownNames,
} from './keywords.ts'

export interface Signature {
  /** The minimum and maximum number of positionals of a call. */
  readonly min: number
  readonly max: number
  /** The names of the positionals. The last name may belong to a rest parameter. */
  readonly names: readonly string[]
  readonly keywords: KeywordPattern | undefined
}

type AnyFunction = (...args: never[]) => unknown

/**
 * Reads the signature of a handler from its source text (reference: Undeclared handlers).
 * @throws Error if the source is not readable, or its parameters cannot come from a request
 */
export function reflectSignature(handler: AnyFunction): Signature {
  const parsed = parseFunction(handler)
  if (parsed === undefined) throw new Error('has no readable source')
  if (namesIn(parsed.tree).some((name) => traces.has(name))) {
    throw new Error('was compiled to JavaScript older than ES2022, which hides its parameters')
  }
  let min = 0
  let max = 0
  const names: string[] = []
  let keywords: KeywordPattern | undefined
  for (const [index, parameter] of parsed.parameters.entries()) {
    const [pattern, optional] = parameter.type === 'AssignmentPattern' ? [parameter.left, true] : [parameter, false]
    if (pattern.type === 'ObjectPattern') {
      if (keywords !== undefined) throw new Error('has two object patterns; one receives all keywords')
      keywords = readKeywords(pattern, index)
    } else if (pattern.type === 'RestElement' && pattern.argument.type === 'Identifier') {
      max = Number.POSITIVE_INFINITY
      names.push(pattern.argument.name)
    } else if (pattern.type === 'Identifier') {
      if (!optional && min < max) throw new Error('has a required positional after an optional one')
      names.push(pattern.name)
      max += 1
      if (!optional) min += 1
    } else {
      throw new Error('has an array pattern among its parameters')
    }
  }
  return { min, max, names, keywords }
}

/**
 * Returns the names of the parameters of a declared handler, for documents: `(id, { limit })` or `(...[id, { limit }])`. Returns
 * fewer names or none if the source does not contain them.
 */
export function parameterNames(handler: AnyFunction): readonly string[] {
  const [first, ...more] = parseFunction(handler)?.parameters ?? []
  const spread = first?.type === 'RestElement' && first.argument.type === 'ArrayPattern' ? first.argument : undefined
  const patterns = spread?.elements ?? [first, ...more]
  const names: string[] = []
  for (const pattern of patterns) {
    const target = pattern?.type === 'AssignmentPattern' ? pattern.left : pattern
    if (target?.type !== 'Identifier') break
    names.push(target.name)
  }
  return names
}

interface ParsedFunction {
  readonly parameters: readonly Pattern[]
  readonly tree: AnyNode
}

function parseFunction(handler: AnyFunction): ParsedFunction | undefined {
  const source = Function.prototype.toString.call(handler)
  // The text of a method is valid only inside a class. The text of a function or an arrow function is valid as an expression.
  return tryParse(`(class extends Object { ${source} })`) ?? tryParse(`(${source})`)
}

function tryParse(text: string): ParsedFunction | undefined {
  try {
    const tree = parseExpressionAt(text, 0, { ecmaVersion: 'latest', sourceType: 'module', checkPrivateFields: false })
    const parameters = functionIn(tree)
    return parameters && { parameters, tree }
  } catch {
    return undefined
  }
}

function functionIn(node: AnyNode): readonly Pattern[] | undefined {
  if (node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression') return node.params
  if (node.type !== 'ClassExpression') return undefined
  const [member] = node.body.body
  return member?.type === 'MethodDefinition' ? member.value.params : undefined
}

/** Names in the output of compilers for old JavaScript versions. These compilers move parameters to other places. */
const traces = new Set([
  'arguments',
  ...['__awaiter', '__generator', '__rest', '__asyncGenerator', '__async', '__objRest'],
  ...['_asyncToGenerator', '_wrapAsyncGenerator', '_objectWithoutProperties', '_objectWithoutPropertiesLoose'],
])

/** The names in a syntax tree. Omits member names, as in `a.arguments`, except those of helpers of tslib. */
function namesIn(node: object): readonly string[] {
  if ('type' in node && node.type === 'Identifier' && 'name' in node) return [String(node.name)]
  const member = memberOf(node)
  return Object.entries(node).flatMap(([key, child]) => (isNode(child) && key !== member ? namesIn(child) : []))
}

/**
 * Returns the child of a node that is the name of a member: of `a.name`, or of `{ name: 1 }` and classes. Returns `undefined` for
 * other nodes and for helpers of tslib.
 */
function memberOf(node: object): 'property' | 'key' | undefined {
  if (!('computed' in node) || node.computed) return undefined
  if (!('object' in node)) return 'key'
  const isHelper = isNode(node.object) && namesIn(node.object).some((name) => name.startsWith('tslib'))
  return isHelper ? undefined : 'property'
}

function isNode(child: unknown): child is object {
  return typeof child === 'object' && child !== null
}

function readKeywords(pattern: ObjectPattern, index: number): KeywordPattern {
  const required: string[] = []
  const known = new Set<string>()
  let open = false
  for (const property of pattern.properties) {
    if (property.type === 'RestElement') {
      open = true
      continue
    }
    const { key, computed, value } = property
    if (computed || (key.type !== 'Identifier' && key.type !== 'Literal')) {
      throw new Error('has a computed key in its object pattern')
    }
    const name = key.type === 'Identifier' ? key.name : String(key.value)
    known.add(name)
    if (value.type !== 'AssignmentPattern') required.push(name)
  }
  return { index, required, known, open }
}

/** Binds arguments by the parameter list, without converting values. */
export function bindSignature({ min, max, names, keywords: pattern }: Signature): Binding {
  const bind = (positionals: Arguments, keywords: Keywords): Arguments => {
    // The most common case: the handler accepts no keywords, and the request has none.
    if (pattern === undefined && keywords === noKeywords) return positionals
    checkNames(keywords, pattern)
    if (pattern === undefined) return positionals
    const { index } = pattern
    if (index === 0) return [keywords, ...positionals]
    // Fill missing optional positionals with `undefined`, so that their defaults apply and the keywords keep their position.
    const before = Array.from({ length: index }, (_, i) => positionals[i])
    return [...before, keywords, ...positionals.slice(index)]
  }
  const knows = (name: string) => pattern !== undefined && (pattern.open || pattern.known.has(name))
  return { min, max, places: names.length, keywords: pattern, body: 'keywords', knows, bind }
}

function checkNames(keywords: Keywords, pattern: KeywordPattern | undefined): void {
  const known = pattern?.known ?? new Set()
  const others = pattern?.open ? [] : Object.keys(keywords).filter((name) => !known.has(name))
  const issues = unknownNames(others, known)
  for (const name of pattern?.required ?? []) {
    if (!(name in keywords)) issues.push({ path: name, message: VALUE_TEXTS.required })
  }
  if (issues.length > 0) throw new ValidationError(issues)
}
