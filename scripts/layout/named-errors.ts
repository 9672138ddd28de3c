import type { Expression, Node } from 'oxc-parser'
import { docstringAbove } from './docstrings.ts'
import { placesOf } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { commentsOf, importsOf, lineAt, programOf, visitSyntax } from './syntax.ts'

const CATALOGUE = /(^|[/-])errors\.ts$/
/** Routes and controllers list their errors in the schemas of their endpoints. */
const ROUTES = /\/src\/(routes|controllers)\//
/** A `@throws` that begins with a class of ours. */
const OWN_CLASS = /^ ((?!Error|TypeError|RangeError|SyntaxError)[A-Z]\w+)/
/** An error code (`weak_password`) or a status in the place of the error's name. */
const NO_NAME = /@throws[^@]*?(?<![`A-Za-z])([a-z]+(?:_[a-z]+)+)(?![`A-Za-z])|@throws (\d{3})\b/g

interface Span {
  readonly start: number
  readonly end: number
}

/** A function at the top of a file, or another constant there. */
interface Top extends Span {
  readonly name: string
  readonly isFunction: boolean
  readonly isExported: boolean
  readonly doc: string
}

interface Known {
  readonly files: ReadonlyMap<string, SourceFile>
  /** The errors of all catalogues whose names are no words of English: `itemGone`. */
  readonly errors: ReadonlySet<string>
}

/** An exported function, and what its docstring says that it throws. */
type Throwing = readonly [name: string, errors: readonly string[]]

interface Call extends Span {
  /** The name that is called, or whose member is called. */
  readonly name: string
  readonly isNew: boolean
  readonly isMember: boolean
}

/** The places where a file throws and calls. */
interface Sites {
  readonly throws: readonly Span[]
  /** Bodies of functions at any depth. */
  readonly functions: readonly Span[]
  /** Blocks and promises whose errors are caught. */
  readonly guarded: readonly Span[]
  readonly calls: readonly Call[]
  readonly identifiers: readonly (Span & { readonly name: string })[]
}

/**
 * An exported function names in `@throws` the errors of the catalogue that it throws, or that a private function of its file
 * throws for it. For errors that it makes with `new`, it has any `@throws`: many of them only say that something cannot be.
 * It also names the errors of catalogues, and the first class of ours, that the docstring of a function that it calls names; or
 * the function: what `lockItem` throws.
 */
export const namedErrors: Rule = (tree) => {
  const files = new Map(tree.files.map((file) => [file.path, file]))
  const catalogues = tree.files.filter(({ path }) => CATALOGUE.test(path)).flatMap(topsOf)
  const known = { files, errors: new Set(catalogues.map(({ name }) => name).filter((name) => /[A-Z]/.test(name))) }
  return productionFiles(tree, 'services', 'packages').flatMap((file) => [
    ...(ROUTES.test(file.path) || CATALOGUE.test(file.path) ? [] : silentErrors(known, file)),
    ...errorsWithoutName(file),
  ])
}

interface FileFacts {
  /** The errors of catalogues that the file imports. */
  readonly catalogue: ReadonlySet<string>
  readonly tops: readonly Top[]
  readonly sites: Sites
}

/** The errors that exported functions throw or pass on without saying so. */
function silentErrors(known: Known, file: SourceFile): readonly Problem[] {
  const facts = { catalogue: catalogueOf(file), tops: topsOf(file), sites: sitesOf(file) }
  const throwing = new Map([...throwingImports(known, file), ...throwingFunctions(known, facts.tops)])
  return facts.tops
    .filter(({ isFunction, isExported }) => isFunction && isExported)
    .flatMap((top) =>
      [...unnamedErrors(top, facts), ...passedErrors(top, facts, throwing)].map((problem) => ({
        path: file.path,
        line: lineAt(file.text, top.start),
        message: `${top.name} ${problem}`,
      })),
    )
}

function unnamedErrors(top: Top, facts: FileFacts): readonly string[] {
  const named = throwsOf(top.doc).split(/\W+/)
  return [...errorsThrown(top, facts)].flatMap((error) => {
    if (!facts.catalogue.has(error))
      return top.doc.includes('@throws') ? [] : `throws ${error}, and its docstring has no @throws`
    return named.includes(error) ? [] : `throws ${error}, which its @throws does not name`
  })
}

function errorsThrown(top: Top, facts: FileFacts, seen: readonly Top[] = []): ReadonlySet<string> {
  const { catalogue, tops, sites } = facts
  const found = ownCalls(top, sites).flatMap((call) => {
    const target = tops.find(({ name }) => name === call.name)
    if (target?.isFunction && !target.isExported && !seen.includes(target)) {
      return [...errorsThrown(target, facts, [...seen, top])]
    }
    if (!isThrown(call, sites)) return []
    if (call.isNew || catalogue.has(call.name)) return [call.name]
    // A table of errors by verdict: `throw refusals[verdict]()`.
    const members = target && !target.isFunction ? sites.identifiers.filter((one) => isInside(one, target)) : []
    return members.map(({ name }) => name).filter((name) => catalogue.has(name))
  })
  return new Set(found)
}

/** The calls of a function itself whose errors nothing catches. */
function ownCalls(top: Top, { calls, functions, guarded }: Sites): Sites['calls'] {
  return calls.filter(
    (call) =>
      isInside(call, top) &&
      !functions.some((inner) => isInside(call, inner) && inner.start > top.start && isInside(inner, top)) &&
      !guarded.some((block) => isInside(call, block)),
  )
}

function passedErrors(top: Top, facts: FileFacts, throwing: ReadonlyMap<string, Throwing[1]>): readonly string[] {
  const named = throwsOf(top.doc).split(/\W+/)
  const silent = new Set(calledNames(top, facts).filter((name) => ![top.name, ...named].includes(name)))
  return [...silent].flatMap((name) =>
    (throwing.get(name) ?? [])
      .filter((error) => !named.includes(error))
      .map((error) => `calls ${name}, which throws ${error}: its @throws names neither`),
  )
}

function throwsOf(doc: string): string {
  return doc.split('@throws').slice(1).join(' ')
}

/** The calls of a function, its own or through private functions of its file. Members are left out: their object is a value. */
function calledNames(top: Top, facts: FileFacts, seen: readonly Top[] = []): readonly string[] {
  return ownCalls(top, facts.sites).flatMap(({ name, isMember, isNew }) => {
    if (isMember || isNew) return []
    const target = facts.tops.find((one) => one.name === name)
    const isPrivate = target?.isFunction && !target.isExported && !seen.includes(target)
    return isPrivate ? calledNames(target, facts, [...seen, top]) : [name]
  })
}

function throwingFunctions({ errors }: Known, tops: readonly Top[]): readonly Throwing[] {
  return tops
    .filter(({ isFunction, isExported }) => isFunction && isExported)
    .map(({ name, doc }) => {
      const text = throwsOf(doc)
      const ownClass = OWN_CLASS.exec(text)?.slice(1) ?? []
      return [name, [...text.split(/\W+/).filter((word) => errors.has(word)), ...ownClass]]
    })
}

function throwingImports(known: Known, file: SourceFile): readonly Throwing[] {
  return importsOf(file).flatMap(({ specifier, names }) => {
    const from = placesOf(file.path, specifier).flatMap((place) => known.files.get(place) ?? [])[0]
    return from?.path.endsWith('.ts') && !CATALOGUE.test(from.path)
      ? throwingFunctions(known, topsOf(from)).filter(([name]) => names.includes(name))
      : []
  })
}

/** Whether a statement throws what the call returns. An argument of another call is not thrown. */
function isThrown(call: Span, { throws, calls }: Sites): boolean {
  const statement = throws.find((one) => isInside(call, one))
  return (
    statement !== undefined &&
    !calls.some((other) => other.start < call.start && isInside(call, other) && isInside(other, statement))
  )
}

function isInside(inner: Span, outer: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

function catalogueOf(file: SourceFile): ReadonlySet<string> {
  const imported = importsOf(file).filter(({ specifier }) => CATALOGUE.test(specifier))
  return new Set(imported.flatMap(({ names }) => names).filter((name) => /^[a-z]/.test(name)))
}

function topsOf(file: SourceFile): readonly Top[] {
  return programOf(file).body.flatMap((node) => {
    const isExported = node.type === 'ExportNamedDeclaration'
    const declared = isExported ? node.declaration : node
    const doc = docstringAbove(file, node.start) ?? ''
    if (declared?.type === 'FunctionDeclaration') {
      const { id, start, end } = declared
      return [{ name: id?.name ?? '', isFunction: true, isExported, doc, start, end }]
    }
    if (declared?.type !== 'VariableDeclaration') return []
    return declared.declarations.map(({ id, init, start, end }) => {
      const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression'
      const span = isFunction ? { start: init.start, end: init.end } : { start, end }
      return { name: id.type === 'Identifier' ? id.name : '', isFunction, isExported, doc, ...span }
    })
  })
}

function sitesOf(file: SourceFile): Sites {
  const throws: Span[] = []
  const functions: Span[] = []
  const guarded: Span[] = []
  const calls: Call[] = []
  const identifiers: (Span & { name: string })[] = []
  const add = (spans: Span[]) => (node: Node) => spans.push({ start: node.start, end: node.end })
  visitSyntax(file, {
    ThrowStatement: add(throws),
    FunctionDeclaration: add(functions),
    FunctionExpression: add(functions),
    ArrowFunctionExpression: add(functions),
    TryStatement(node) {
      if (node.handler) add(guarded)(node.block)
    },
    CallExpression({ callee, start, end }) {
      const isMember = callee.type !== 'Identifier'
      calls.push({ name: calledName(callee), isNew: false, isMember, start, end })
      if (isMember && file.text.slice(callee.start, callee.end).endsWith('.catch')) add(guarded)(callee)
    },
    NewExpression({ callee, start, end }) {
      calls.push({ name: calledName(callee), isNew: true, isMember: callee.type !== 'Identifier', start, end })
    },
    Identifier({ name, start, end }) {
      identifiers.push({ name, start, end })
    },
  })
  return { throws, functions, guarded, calls, identifiers }
}

function calledName(callee: Expression): string {
  if (callee.type === 'Identifier') return callee.name
  return callee.type === 'MemberExpression' && callee.object.type === 'Identifier' ? callee.object.name : ''
}

function errorsWithoutName(file: SourceFile): readonly Problem[] {
  return commentsOf(file).flatMap(({ value, start }) =>
    [...value.matchAll(NO_NAME)].map(({ 0: text, 1: code, 2: status, index }) => ({
      path: file.path,
      line: lineAt(file.text, start + 2 + index + text.length),
      message: `@throws ${code ?? status} is no name of an error: name the error of the catalogue`,
    })),
  )
}
