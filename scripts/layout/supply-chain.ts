import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob, posix } from 'node:path'
import { z } from 'zod'
import type { Problem, Rule } from './source-tree.ts'

/** Compose pins third-party images to a version, so that they do not change unnoticed. Renovate updates the versions. */
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

/**
 * Third-party actions are pinned to a commit, because a tag can be moved. The comment next to it has the version for Renovate.
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

/** Sources that run in images. The other packages are only for development. */
const RUNS_IN_IMAGES =
  /^(services\/[^/]+\/src|packages\/(?!stack\/|testing\/)[^/]+\/src|migrations)\/.*(?<!\.test)\.(ts|sql)$/

/** `.dockerignore` excludes no source that runs in an image. */
export const imageFiles: Rule = ({ files, read }) => {
  const path = '.dockerignore'
  const lines = read(path)?.split('\n') ?? []
  const patterns = lines.filter((line) => /^[^#!]/.test(line) && line !== '*')
  return files
    .filter((file) => RUNS_IN_IMAGES.test(file.path))
    .flatMap((file): Problem[] => {
      const pattern = patterns.find((glob) => ancestry(file.path).some((part) => matchesGlob(part, glob)))
      return pattern === undefined ? [] : [{ path, message: `${pattern} leaves ${file.path} out of the images` }]
    })
}

/** A path and its parent folders. */
function ancestry(path: string): readonly string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [path] : [path, ...ancestry(folder)]
}

/** Packages without a declared licence. Tests and examples may use them, because we do not publish those as programs. */
const UNLICENSED = ['@paylike/request']

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
})

/** A package without a licence may not be redistributed, so no service or package depends on one. */
export const unlicensedPackages: Rule = ({ root }) =>
  globSync(['package.json', 'migrations/package.json', '{services,packages}/*/package.json'], { cwd: root }).flatMap(
    (path) => {
      const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(root, path), 'utf8')))
      const names = new Set(Object.values(manifest).flatMap(Object.keys))
      return UNLICENSED.filter((name) => names.has(name)).map((name) => ({
        path,
        message: `depends on ${name}, which declares no licence: only tests and examples may use it`,
      }))
    },
  )
