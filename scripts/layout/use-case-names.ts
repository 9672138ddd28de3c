import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\/(?:.*\/)?([^/]+)\.ts$/

/**
 * A use case is found by its name: `use-cases/pay-out.ts` exports `payOut`. Where only the queue calls the act, its file exports the
 * function that takes its jobs, `start…`, and the act may be private.
 */
export const useCaseNames: Rule = (tree) => productionFiles(tree, 'services').flatMap(problemsOf)

function problemsOf({ path, text }: SourceFile): readonly Problem[] {
  const name = USE_CASE.exec(path)?.[1]?.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (name === undefined) return []
  const isTakenFromQueue = /^export (?:async )?function start[A-Z]/m.test(text)
  const exported = isTakenFromQueue ? '(?:export )?' : 'export '
  const act = new RegExp(String.raw`^(?:/\*\*.*\*/ )?${exported}(?:(?:async )?function\*? |const )${name}\b`, 'm')
  if (act.test(text)) return []
  return [{ path, message: `exports no ${name}: name the file after its act, or split it by its acts` }]
}
