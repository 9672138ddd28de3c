import { includeFragments } from '../../migrations/fragments.ts'
import { isTest, type Problem, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const CHECKED = /^(services|packages|migrations|scripts|bench|deploy|examples)\/.*\.(ts|m?js)$/
const FILE_LINES_MAX = 400
const TEST_LINES_MAX = 500
const FUNCTION_LINES_MAX = 60
const SQL_FUNCTION = /^(migrations\/[^/]+\/functions\/)[^/]+\.sql$/
/** A SQL function contains all decisions of one call (decision 2). */
const SQL_FUNCTION_LINES_MAX = 150
/** Longer SQL functions, with reasons. */
const LONGER_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  [
    'migrations/auth/functions/refresh_session.sql',
    'its steps share a session, a token and a user in plain variables: with rows as arguments of smaller functions it took almost twice the time',
  ],
  [
    'migrations/payments/functions/post.sql',
    'each of up to a hundred movements makes a journal, an entry of the trail, a line and an event of the same variables, and the chain hashes them in that order',
  ],
])

/** Files and functions are short enough to read as a whole. Blank lines and comments count. */
export const sizes: Rule = (tree) => [...longSqlFunctions(tree), ...longSources(tree)]

/** Checks functions as they are installed, including their fragments. */
function longSqlFunctions({ files }: SourceTree): readonly Problem[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const lengths = files.flatMap(({ path, text }) => {
    const folder = SQL_FUNCTION.exec(path)?.[1]
    if (folder === undefined) return []
    // The rule of function files reports missing fragments.
    const whole = includeFragments(text, (name) => texts.get(`${folder}fragments/${name}`) ?? '')
    return [{ path, lines: whole.split('\n').length - 1 }]
  })
  const long = lengths.filter(({ lines }) => lines > SQL_FUNCTION_LINES_MAX)
  const isListed = (path: string) => LONGER_FUNCTIONS.has(path)
  return [
    ...long
      .filter(({ path }) => !isListed(path))
      .map(({ path, lines }) => ({ path, message: `has ${lines} lines, more than ${SQL_FUNCTION_LINES_MAX}` })),
    ...lengths
      .filter(({ path, lines }) => isListed(path) && lines <= SQL_FUNCTION_LINES_MAX)
      .map(({ path }) => ({ path, message: 'is listed as a longer function, which it is not' })),
  ]
}

function longSources(tree: SourceTree): readonly Problem[] {
  return tree.files
    .filter(({ path }) => CHECKED.test(path))
    .flatMap((file): readonly Problem[] => {
      const ofTests = isTest(file.path)
      const lines = file.text.split('\n').length - 1
      const max = ofTests ? TEST_LINES_MAX : FILE_LINES_MAX
      const long = lines > max ? [{ path: file.path, message: `has ${lines} lines, more than ${max}` }] : []
      // A test may be long, but a function that tests share may not.
      return file.path.endsWith('.test.ts') ? long : [...long, ...longFunctions(file)]
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
