import type { Expression } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/**
 * A name ends in its unit. A variable that is a number of a clock (`performance.now()`, `Date.now()`,
 * `getTime()`), or lies before or after one, ends in `Ms`, so that nobody compares it with seconds or with a
 * Date.
 */
export const momentNames: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations', 'scripts', 'bench').flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    VariableDeclarator({ id, init, start }) {
      if (id.type !== 'Identifier' || init === null || /(?:^ms|M[Ss]|_MS)$/.test(id.name) || !isMoment(init)) return
      const message = `${id.name} is a number of milliseconds: end its name in Ms`
      problems.push({ path: file.path, line: lineAt(file.text, start), message })
    },
  })
  return problems
}

/** Whether an expression reads a clock as a number, perhaps plus or minus something. */
function isMoment(expression: Expression): boolean {
  if (expression.type === 'BinaryExpression') {
    if (expression.operator !== '+' && expression.operator !== '-') return false
    return [expression.left, expression.right].some(isMoment)
  }
  if (expression.type !== 'CallExpression' || expression.callee.type !== 'MemberExpression') return false
  const { object, property } = expression.callee
  if (property.type !== 'Identifier') return false
  if (property.name === 'getTime') return true
  return property.name === 'now' && object.type === 'Identifier' && ['performance', 'Date'].includes(object.name)
}
