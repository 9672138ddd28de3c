import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem, Rule } from './source-tree.ts'

/**
 * Actions of others are pinned to a commit, because a tag can be moved. The comment beside it names the version for Renovate.
 */
export const pinnedActions: Rule = ({ root }) =>
  globSync('.github/workflows/*.yml', { cwd: root }).flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((content, i): Problem[] => {
        const action = /^\s*(?:- )?uses: (?!\.\/)(.+)$/.exec(content)?.[1]
        if (action === undefined || /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)) return []
        return [{ path, line: i + 1, message: `names ${action} by no commit with its version` }]
      }),
  )
