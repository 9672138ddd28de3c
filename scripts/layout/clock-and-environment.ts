import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { importsOf, lineAt, visitSyntax } from './syntax.ts'

const exempt = [
  /\/src\/(main|deps|config)\.ts$/,
  /\/src\/config\//,
  /^packages\/(stack|testing)\//,
  // Programs that nothing imports.
  /^packages\/[^/]+\/(examples|scripts)\//,
]

const reads = new Set(['process.env', 'Date.now', 'performance.timeOrigin'])

/**
 * Only `main.ts`, `deps.ts` and config read the environment and the clock. Everything else takes them as arguments, so that a
 * test can fix them. `performance.now()` is allowed: it measures durations, and does not tell the time of day.
 */
export const clockAndEnvironment: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations')
    .filter(({ path }) => !exempt.some((pattern) => pattern.test(path)))
    .flatMap(readsOf)

function readsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  const report = (what: string, line: number): void => {
    problems.push({
      path: file.path,
      line,
      message: `${what} outside main.ts, deps.ts and config: take it as an argument`,
    })
  }
  visitSyntax(file, {
    MemberExpression(node) {
      if (node.object.type !== 'Identifier' || node.property.type !== 'Identifier') return
      const name = `${node.object.name}.${node.property.name}`
      if (reads.has(name)) report(name, lineAt(file.text, node.start))
    },
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0) {
        report('new Date()', lineAt(file.text, node.start))
      }
    },
  })
  for (const { specifier, names, line } of importsOf(file)) {
    if (/^(node:)?process$/.test(specifier) && names.includes('env')) report('process.env', line)
  }
  return problems
}
