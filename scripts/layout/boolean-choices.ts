import type { ArrowFunctionExpression, Function as FunctionNode, ParamPattern, TSType } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

interface Span {
  readonly start: number
  readonly end: number
}

interface DeclaredFunction extends Span {
  readonly name: string
  /** The names of its boolean parameters. */
  readonly flags: readonly string[]
}

/** The declarations of a file that bear on the rule, in the order of its text. */
interface Declarations {
  readonly functions: DeclaredFunction[]
  readonly conditions: Span[]
  readonly uses: (Span & { readonly name: string })[]
}

/**
 * A function that does one thing for true and another for false takes no boolean by position: at its call, `true` does not say
 * what is asked for. The function takes a named member or words (`'live' | 'test'`), or it is two functions.
 *
 * A boolean that a function only stores or passes on is a value. An assertion (`asserts isOwn`) is about its argument. A function
 * that is an argument of another has the parameters that the other demands.
 */
export const booleanChoices: Rule = (tree) =>
  productionFiles(tree, 'bench', 'examples', 'migrations', 'packages', 'scripts', 'services').flatMap(choicesOf)

function choicesOf(file: SourceFile): readonly Problem[] {
  const { functions, conditions, uses } = declarationsOf(file)
  return functions.flatMap((declared) =>
    declared.flags
      .filter((flag) =>
        conditions.some(
          (condition) =>
            isWithin(condition, declared) && uses.some((use) => use.name === flag && isWithin(use, condition)),
        ),
      )
      .map((flag) => ({
        path: file.path,
        line: lineAt(file.text, declared.start),
        message: `${declared.name} chooses by the boolean ${flag}: take a named member or words, or make two functions`,
      })),
  )
}

function isWithin(inner: Span, outer: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

function declarationsOf(file: SourceFile): Declarations {
  const found: Declarations = { functions: [], conditions: [], uses: [] }
  const declare = (name: string, declared: FunctionNode | ArrowFunctionExpression): void => {
    const { start, end } = declared
    const flags = isAssertion(declared) ? [] : declared.params.flatMap(booleanNames)
    found.functions.push({ name, start, end, flags })
  }
  visitSyntax(file, {
    FunctionDeclaration: (declared) => declare(declared.id?.name ?? 'a function', declared),
    VariableDeclarator({ id, init }) {
      const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression'
      if (isFunction && id.type === 'Identifier') declare(id.name, init)
    },
    MethodDefinition: ({ key, value }) => declare(file.text.slice(key.start, key.end), value),
    IfStatement: ({ test }) => void found.conditions.push(test),
    ConditionalExpression: ({ test }) => void found.conditions.push(test),
    LogicalExpression: ({ left }) => void found.conditions.push(left),
    WhileStatement: ({ test }) => void found.conditions.push(test),
    Identifier: (identifier) => void found.uses.push(identifier),
  })
  return found
}

function isAssertion({ returnType }: FunctionNode | ArrowFunctionExpression): boolean {
  const type = returnType?.typeAnnotation
  return type?.type === 'TSTypePredicate' && type.asserts
}

/** The name of a parameter whose type or default is a boolean; none for another. */
function booleanNames(parameter: ParamPattern): readonly string[] {
  if (parameter.type === 'AssignmentPattern') {
    const { left, right } = parameter
    const isFlag = right.type === 'Literal' && typeof right.value === 'boolean'
    return left.type === 'Identifier' && isFlag ? [left.name] : booleanNames(left)
  }
  if (parameter.type !== 'Identifier') return []
  return isBoolean(parameter.typeAnnotation?.typeAnnotation) ? [parameter.name] : []
}

function isBoolean(type: TSType | undefined): boolean {
  if (type?.type === 'TSUnionType') {
    const others = type.types.filter((each) => !['TSUndefinedKeyword', 'TSNullKeyword'].includes(each.type))
    return others.length > 0 && others.every(isBoolean)
  }
  if (type?.type !== 'TSLiteralType') return type?.type === 'TSBooleanKeyword'
  return type.literal.type === 'Literal' && typeof type.literal.value === 'boolean'
}
