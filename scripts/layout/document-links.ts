import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import type { Problem, Rule } from './source-tree.ts'

const SERVICE_README = /^services\/[^/]+\/README\.md$/
/** A path in backticks: a folder with `/` at its end, or a file. A pattern such as `*.ts` is not a path. */
const PATH_IN_BACKTICKS = /`((?:[A-Za-z0-9][\w.-]*\/)*[A-Za-z0-9][\w.-]*(?:\/|\.(?:ts|sql|md|json)))`/g

/** Links of documents lead to files of the repository. So do paths in backticks in the README of a service. */
export const documentLinks: Rule = (tree) =>
  tree.files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      withoutCode(text)
        .split('\n')
        .flatMap((content, i): Problem[] =>
          [...findBrokenLinks(tree.root, path, content), ...findMissingPaths(tree.root, path, content)].map(
            (message): Problem => ({ path, line: i + 1, message }),
          ),
        ),
    )

function findBrokenLinks(root: string, path: string, content: string): readonly string[] {
  return [...content.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(posix.join(root, posix.dirname(path), target)))
    .map((target) => `links to ${target}, which is not there`)
}

/** The README of a service writes paths from its `src/`, its own folder, or the root. */
function findMissingPaths(root: string, path: string, content: string): readonly string[] {
  if (!SERVICE_README.test(path)) return []
  const service = posix.dirname(path)
  const places = [posix.join(root, service, 'src'), posix.join(root, service), root]
  return [...content.matchAll(PATH_IN_BACKTICKS)]
    .map(([, named = '']) => named)
    .filter((named) => !places.some((place) => existsSync(posix.join(place, named))))
    .map((named) => `names ${named}, which is not there`)
}

/** The text without its code blocks, because brackets of code are not links. Lines keep their numbers. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]/g, ''))
}
