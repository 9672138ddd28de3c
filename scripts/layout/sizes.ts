import { isTest, type Problem, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const CHECKED = /^(services|packages|migrations|scripts|bench|deploy|examples)\/.*\.(ts|m?js)$/
const FILE_LINES_MAX = 250
const TEST_LINES_MAX = 500
const FUNCTION_LINES_MAX = 60
const SQL_FUNCTION = /^migrations\/[^/]+\/functions\/.*\.sql$/
/** A function of SQL is one call with everything that it decides (decision 2). */
const SQL_FUNCTION_LINES_MAX = 150

/** Files and functions are short enough to be read at once. All lines count, blank ones and comments too. */
export const sizes: Rule = (tree) => [...longSqlFunctions(tree), ...longSources(tree)]

function longSqlFunctions({ files }: SourceTree): readonly Problem[] {
  return files
    .filter(({ path }) => SQL_FUNCTION.test(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > SQL_FUNCTION_LINES_MAX)
    .map(({ path, lines }) => ({ path, message: `has ${lines} lines, more than ${SQL_FUNCTION_LINES_MAX}` }))
}

function longSources(tree: SourceTree): readonly Problem[] {
  return tree.files
    .filter(({ path }) => CHECKED.test(path))
    .flatMap((file): readonly Problem[] => {
      const ofTests = isTest(file.path)
      const lines = file.text.split('\n').length - 1
      const max = ofTests ? TEST_LINES_MAX : FILE_LINES_MAX
      const long = lines > max ? [{ path: file.path, message: `has ${lines} lines, more than ${max}` }] : []
      return ofTests ? long : [...long, ...longFunctions(file)]
    })
}

function longFunctions(file: SourceFile): readonly Problem[] {
  const found: Problem[] = []
  const judge = ({ start, end }: { readonly start: number; readonly end: number }) => {
    const line = lineAt(file.text, start)
    const lines = lineAt(file.text, end) - line + 1
    if (lines <= FUNCTION_LINES_MAX) return
    found.push({ path: file.path, line, message: `a function has ${lines} lines, more than ${FUNCTION_LINES_MAX}` })
  }
  visitSyntax(file, { FunctionDeclaration: judge, FunctionExpression: judge, ArrowFunctionExpression: judge })
  return found
}
