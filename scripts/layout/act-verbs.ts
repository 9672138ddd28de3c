import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** The verbs of other words for an act, with the verbs of the tables in CONTRIBUTING.md to say instead. */
const OTHER_VERBS: ReadonlyMap<string, string> = new Map([
  ['make', 'create, generate or build'],
  ['compose', 'build'],
  ['note', 'record, remember or add'],
])
/** The words as nouns: `noteOf` returns a note, `composeImage` an image of Compose. */
const NOUNS = /^(?:note(?:Of|For)|compose(?:File|Image)s?)$/

/**
 * One act has one verb: a function of production code does not begin with `make`, `compose` or `note`, and has none of them after
 * `Or`. It may be a declaration, a method, or a constant, a member or a field of a class that is a function.
 */
export const actVerbs: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations', 'scripts', 'bench', 'examples').flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  const judge = (name: string, offset: number): void => {
    const verbs = [/^[a-z]+(?![a-z])/.exec(name)?.[0], /(?<=[a-z]Or)[A-Z][a-z]+/.exec(name)?.[0].toLowerCase()]
    const instead = verbs.map((verb) => OTHER_VERBS.get(verb ?? '')).find((found) => found !== undefined)
    if (instead === undefined || NOUNS.test(name)) return
    problems.push({
      path: file.path,
      line: lineAt(file.text, offset),
      message: `${name} has another verb for its act: ${instead}, as the tables of CONTRIBUTING.md say`,
    })
  }
  visitSyntax(file, {
    FunctionDeclaration({ id, start }) {
      if (id) judge(id.name, start)
    },
    VariableDeclarator({ id, init, start }) {
      if (id.type === 'Identifier' && init && isFunction(init.type)) judge(id.name, start)
    },
    MethodDefinition({ key, start }) {
      if (key.type === 'Identifier' || key.type === 'PrivateIdentifier') judge(key.name, start)
    },
    PropertyDefinition({ key, value, start }) {
      const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier'
      if (isNamed && value && isFunction(value.type)) judge(key.name, start)
    },
    Property({ key, value, start }) {
      if (key.type === 'Identifier' && isFunction(value.type)) judge(key.name, start)
    },
  })
  return problems
}

function isFunction(type: string): boolean {
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression'
}
