// Makes a release: `pnpm release 0.2.0` sets the version everywhere, dates the changelog, commits and tags.
// `node scripts/release.ts --notes 0.2.0` prints the changelog's section. It needs nothing installed but Node.js and git.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isLaterVersion, releaseChangelog, sectionOf } from './release/changelog.ts'

/** Where and when a release is made. */
export interface ReleaseOptions {
  /** Absolute path of a clean checkout. */
  readonly root: string
  /** `major.minor.patch`, later than the present one. */
  readonly version: string
  readonly now: Date
  /** Writes anew what is generated and carries the version. */
  readonly regenerate: () => void
}

/** Commits the release and tags it `v<version>`. Throws, with nothing changed, when the checkout is not ready for it. */
export function release({ root, version, now, regenerate }: ReleaseOptions): void {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const current = versionOf(join(root, 'package.json'))
  if (!isLaterVersion(version, current)) throw new Error(`${version} does not come after ${current}`)
  if (git('status', '--porcelain') !== '') throw new Error('the checkout has changes that are not committed')
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} is there already`)
  const changelog = releaseChangelog(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version, now)

  writeFileSync(join(root, 'CHANGELOG.md'), changelog)
  for (const path of globSync('{.,migrations,bench,packages/*,services/*}/package.json', { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8')
    writeFileSync(join(root, path), text.replace(/^ {2}"version": "[^"]*"/m, `  "version": "${version}"`))
  }
  regenerate()
  git('add', '--all')
  git('commit', '--quiet', '--message', `chore(repo): release ${version}`)
  git('tag', '--annotate', `v${version}`, '--message', `Trestle ${version}\n\n${sectionOf(changelog, version)}`)
}

function versionOf(path: string): string {
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (typeof manifest !== 'object' || manifest === null || !('version' in manifest))
    throw new Error(`${path}: no version`)
  return String(manifest.version)
}

function main(root: string): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { notes: { type: 'string' } },
  })
  if (values.notes !== undefined) {
    const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), values.notes)
    if (section === undefined) throw new Error(`CHANGELOG.md has no section ${values.notes}`)
    console.log(section)
    return
  }
  const [version, ...more] = positionals
  if (version === undefined || more.length > 0) throw new Error('usage: pnpm release <major.minor.patch>')
  const regenerate = (): void => {
    execFileSync(process.execPath, [join(root, 'scripts', 'write-openapi.ts')], { stdio: 'inherit' })
  }
  release({ root, version, now: new Date(), regenerate })
  console.log(`Tagged v${version}. Publish it with: git push --follow-tags`)
}

if (import.meta.main) {
  try {
    main(join(import.meta.dirname, '..'))
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
