import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import type { Problem, Rule } from './source-tree.ts'

/** A link of a document to another file of the repository leads somewhere. */
export const documentLinks: Rule = (tree) =>
  tree.files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      withoutCode(text)
        .split('\n')
        .flatMap((content, i): Problem[] =>
          [...content.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].flatMap(([, target = '']): Problem[] => {
            if (/^[a-z]+:/.test(target)) return []
            const file = posix.join(tree.root, posix.dirname(path), target)
            return existsSync(file) ? [] : [{ path, line: i + 1, message: `links to ${target}, which is not there` }]
          }),
        ),
    )

/** The text with its code blocks left empty: brackets of code are no links. Lines keep their numbers. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]/g, ''))
}
