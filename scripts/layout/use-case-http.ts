import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { commentsOf, lineAt, visitSyntax } from './syntax.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\//
/** Longer names with these words are allowed, because an acquirer has an `authorization` and a CSV file a `header`. */
const NAME = /^(?:headers|authorization)$|[Cc]ookies?(?![a-z])/
const TEXT = /^(?:set-cookie|(?:content|accept|if|x)-[a-z-]+|(?:application|text|image|multipart)\/[a-z.+-]+)$/i
const COMMENT = /\b[Cc]ookies?\b|\b[Hh]eaders?\b|`Authorization`|\bX-[A-Z]\w+|\b[45]\d\d\b/

/**
 * A use case does not depend on HTTP: only routes read and write headers and cookies. So no name, text or comment of a use case
 * is that of a header, a cookie, a media type or a status. The Idempotency-Key is allowed, because it is the key with which a
 * caller repeats a change.
 */
export const useCaseHttp: Rule = (tree) =>
  productionFiles(tree, 'services')
    .filter(({ path }) => USE_CASE.test(path))
    .flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  const judge = (text: string, form: RegExp, start: number): void => {
    const [found] = form.exec(text) ?? []
    if (found === undefined) return
    const message = `a use case knows no HTTP: leave "${found}" to the route, and take or return a plain value`
    problems.push({ path: file.path, line: lineAt(file.text, start), message })
  }
  visitSyntax(file, {
    Identifier: ({ name, start }) => judge(name, NAME, start),
    Literal: ({ value, start }) => typeof value === 'string' && judge(value, TEXT, start),
  })
  for (const { value, start } of commentsOf(file)) judge(value, COMMENT, start)
  return problems
}
