import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/**
 * An object literal names its members itself: `...{ id, name }` inside of it would only put several members
 * on one line. A spread of a variable, a call or a condition stays, because nobody can name its members
 * there.
 */
export const objectSpreads: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations', 'scripts', 'bench', 'examples').flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    ObjectExpression({ properties }) {
      for (const property of properties) {
        if (property.type !== 'SpreadElement' || property.argument.type !== 'ObjectExpression') continue
        const message = 'an object spreads a literal only to save lines: name the members one by one'
        problems.push({ path: file.path, line: lineAt(file.text, property.start), message })
      }
    },
  })
  return problems
}
