import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'
import { titledCallsOf } from './titled-calls.ts'

/**
 * A refusal of an Idempotency-Key is a guarantee of its own, and no part of a success that is repeated. So a test whose
 * title names a success compares no such refusal.
 */
export const keyRefusals: Rule = (tree) =>
  tree.files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(keyRefusalsOf)

function keyRefusalsOf(file: SourceFile): readonly Problem[] {
  const successes = titledCallsOf(file).filter(({ isGroup, title }) => !isGroup && /^2\d\d: /.test(title))
  const problems: Problem[] = []
  const refuse = (start: number): void => {
    if (!successes.some((test) => test.titleEnd <= start && start < test.end)) return
    const message = 'a test of a success compares the refusal of an Idempotency-Key: give the refusal its own test'
    problems.push({ path: file.path, line: lineAt(file.text, start), message })
  }
  visitSyntax(file, {
    CallExpression({ callee, start, end }) {
      const isRefusal = /^(?:refusedField|refusedBody|errorBody)$/.test(file.text.slice(callee.start, callee.end))
      if (isRefusal && file.text.slice(start, end).includes('Idempotency-Key')) refuse(start)
    },
    Property({ value, start }) {
      if (value.type === 'Literal' && value.value === 'Idempotency-Key') refuse(start)
    },
  })
  return problems
}
