// Makes a release: `pnpm release` sets the version everywhere, dates the changelog, commits and tags. The changelog determines
// the version, unless it is given (`pnpm release 0.2.0`). `--dry-run` only prints the steps. `node scripts/release.ts --notes
// 0.2.0 --base <URL>` prints the changelog's section for a release page, with the URL before relative links. It needs only
// Node.js and git.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const USAGE = `usage: pnpm release [--dry-run] [major.minor.patch]

Sets the version everywhere, dates the changelog, commits and tags. Without a version, the changelog decides it.

  --dry-run                  print what would happen, and change nothing
  --notes major.minor.patch  print the section of the changelog for that version, and change nothing
  --base URL                 with --notes: where relative links of the section begin
  --help                     print this text`

export interface ReleaseOptions {
  /** The absolute path of a clean checkout. */
  readonly root: string
  /** `major.minor.patch`, later than the current version. `undefined`: the changelog determines it. */
  readonly version: string | undefined
  readonly now: Date
}

export interface ReleasePlan {
  readonly root: string
  readonly current: string
  readonly version: string
  readonly tag: string
  readonly changelog: string
  /** The changelog's section for the release. */
  readonly notes: string
  /** The paths of the manifests that contain the version. */
  readonly manifests: readonly string[]
}

/**
 * Commits and tags a release.
 * @param regenerate writes the generated files that contain the version
 */
export function release(plan: ReleasePlan, regenerate: () => void): void {
  const { root, version, tag } = plan
  const git = gitOf(root)
  writeFileSync(join(root, 'CHANGELOG.md'), plan.changelog)
  for (const path of plan.manifests) {
    const text = readFileSync(join(root, path), 'utf8')
    writeFileSync(join(root, path), text.replace(/^ {2}"version": "[^"]*"/m, `  "version": "${version}"`))
  }
  regenerate()
  git('add', '--all')
  git(
    'commit',
    '--quiet',
    '--message',
    `chore(repo): release ${version}\n\nThe version and the date of the changelog follow from what has changed.`,
  )
  git('tag', '--annotate', tag, '--message', `Trestle ${version}\n\n${plan.notes}`)
}

/** Plans a release without changes. @throws Error if the checkout is not ready for a release */
export function planRelease({ root, version: given, now }: ReleaseOptions): ReleasePlan {
  const git = gitOf(root)
  const current = versionOf(join(root, 'package.json'))
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const version = given ?? nextVersion(current, sectionOf(text, 'Unreleased') ?? '')
  if (!isLaterVersion(version, current)) throw new Error(`${version} does not come after ${current}`)
  if (git('status', '--porcelain') !== '') throw new Error('the checkout has changes that are not committed')
  const tag = `v${version}`
  if (git('tag', '--list', tag) !== '') throw new Error(`the tag ${tag} is there already`)
  const changelog = releaseChangelog(text, version, now)
  const manifests = git('ls-files', '--', 'package.json', '*/package.json').split('\n')
  return { root, current, version, tag, changelog, notes: sectionOf(changelog, version) ?? '', manifests }
}

/** The steps of a release, one per line. */
export function describeRelease({ current, version, tag, manifests, notes }: ReleasePlan): readonly string[] {
  return [
    `would set the version ${version} (now ${current}) in ${manifests.length} manifests:`,
    ...manifests.map((path) => `  ${path}`),
    'would date the changelog, and write the OpenAPI documents again',
    `would commit "chore(repo): release ${version}" and tag it ${tag}`,
    'pushing the tag would then test, build and publish images and the framework, and publish these notes:',
    '',
    notes,
  ]
}

function gitOf(root: string): (...args: readonly string[]) => string {
  return (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function versionOf(path: string): string {
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (typeof manifest !== 'object' || manifest === null || !('version' in manifest))
    throw new Error(`${path}: no version`)
  return String(manifest.version)
}

/** Inserts a URL before relative links, because a release page is not in the same place as the changelog. */
export function linkNotes(notes: string, base: string): string {
  return notes.replaceAll(/\]\((?![a-z]+:|#)/g, `](${base}/`)
}

const unreleased = '## [Unreleased]'

/** The trimmed lines from `## [version]` to the next version, or `undefined` if the heading does not exist. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const lines = changelog.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`## [${version}]`))
  if (start < 0) return undefined
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## ['))
  return lines
    .slice(start + 1, length < 0 ? undefined : start + 1 + length)
    .join('\n')
    .trim()
}

/**
 * Turns the unreleased part into the section of `version`, with the UTC date of `now`, and adds an empty unreleased part.
 * @throws Error if nothing is unreleased or the version already has a section
 */
export function releaseChangelog(changelog: string, version: string, now: Date): string {
  if (sectionOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has a section ${version} already`)
  if (!sectionOf(changelog, 'Unreleased')) throw new Error('CHANGELOG.md has nothing under [Unreleased]')
  return changelog.replace(unreleased, `${unreleased}\n\n## [${version}] - ${now.toISOString().slice(0, 10)}`)
}

/** Whether `next` is later than `current`. @throws Error unless both are `major.minor.patch` */
export function isLaterVersion(next: string, current: string): boolean {
  const [a, b] = [numbersOf(next), numbersOf(current)]
  const place = a.findIndex((number, i) => number !== b[i])
  return place >= 0 && (a[place] ?? 0) > (b[place] ?? 0)
}

function numbersOf(version: string): readonly number[] {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version)) throw new Error(`not a version: ${version}`)
  return version.split('.').map(Number)
}

/** Headings of a changelog section that require more than a patch version. */
const NEW = /^### (Added|Changed|Deprecated)$/m
const BREAKING = /^### Removed$|^- .*\bBREAKING\b/m

/**
 * Returns the next version, based on the kinds of changes. Before 1.0.0, a breaking change increases the minor version.
 * @param section the unreleased part of the changelog
 * @see https://semver.org, https://keepachangelog.com
 */
export function nextVersion(current: string, section: string): string {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number)
  const isBreaking = BREAKING.test(section)
  if (isBreaking && major > 0) return `${major + 1}.0.0`
  if (isBreaking || NEW.test(section)) return `${major}.${minor + 1}.0`
  return `${major}.${minor}.${patch + 1}`
}

function main(root: string): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      notes: { type: 'string' },
      base: { type: 'string' },
      'dry-run': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return
  }
  if (values.notes !== undefined) {
    const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), values.notes)
    if (section === undefined) throw new Error(`CHANGELOG.md has no section ${values.notes}`)
    console.log(values.base === undefined ? section : linkNotes(section, values.base))
    return
  }
  const [version, ...more] = positionals
  if (more.length > 0) throw new Error(`one version, not ${positionals.length}\n${USAGE}`)
  const plan = planRelease({ root, version, now: new Date() })
  if (values['dry-run']) {
    for (const line of describeRelease(plan)) console.log(line)
    return
  }
  release(plan, () => {
    execFileSync(process.execPath, [join(root, 'scripts', 'write-openapi.ts')], { stdio: 'inherit' })
  })
  console.log(`Tagged ${plan.tag}. Publish it with: git push --follow-tags`)
}

if (import.meta.main) {
  try {
    main(join(import.meta.dirname, '..'))
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
