import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem, Rule } from './source-tree.ts'

/** Compose names the images of others with a version, so that an image works tomorrow as it does today. Renovate renews them. */
export const pinnedImages: Rule = ({ root }) =>
  globSync('docker-compose*.yml', { cwd: root }).flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((content, i): Problem[] => {
        const image = /^\s*image: (?!trestle-)(\S+)/.exec(content)?.[1]
        if (image === undefined || /:v?\d[\w.-]*$/.test(image)) return []
        return [{ path, line: i + 1, message: `names the image ${image} without a version` }]
      }),
  )
