import type { SourceFile } from '../layout/source-tree.ts'
import { visitSyntax } from '../layout/syntax.ts'

/** A call that declares a test, or a group of tests. Positions count characters from 0. */
export interface TitledCall {
  readonly isGroup: boolean
  /** The title. Of a template it is the source without its quotes, of another expression the source. */
  readonly title: string
  readonly form: 'text' | 'template' | 'expression'
  readonly start: number
  readonly titleEnd: number
  readonly end: number
}

/**
 * The functions that declare a test or a group, also `it.each(cases)`. Others call `test.app.inject('…')`,
 * where `test` is a service.
 */
const DECLARES = /^(?:describe|it|test)(?:$|\.(?:each|for|skipIf|runIf|concurrent|sequential|fails|only|skip|todo)\b)/

/**
 * The calls `describe('…', …)`, `it('…', …)` and `test('…', …)` of a file, also those of `it.each(cases)('…', …)`. A group
 * stands before its tests.
 * @throws Error when the file cannot be parsed
 */
export function titledCallsOf(file: SourceFile): readonly TitledCall[] {
  const found: TitledCall[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: [title], start, end }) {
      const called = file.text.slice(callee.start, callee.end)
      if (title === undefined || !DECLARES.test(called)) return
      // `it.each(cases)` is the callee of the call that has the title.
      if (/\.(each|for|skipIf|runIf)$/.test(called)) return
      const place = { isGroup: called.startsWith('describe'), start, titleEnd: title.end, end }
      const source = file.text.slice(title.start, title.end)
      if (title.type === 'Literal' && typeof title.value === 'string')
        found.push({ ...place, title: title.value, form: 'text' })
      else if (title.type === 'TemplateLiteral') found.push({ ...place, title: source.slice(1, -1), form: 'template' })
      else found.push({ ...place, title: source, form: 'expression' })
    },
  })
  return found
}
