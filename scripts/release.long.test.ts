import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { problemsOfMessage } from './check-commits.ts'
import {
  describeRelease,
  isLaterVersion,
  linkNotes,
  nextVersion,
  planRelease,
  release,
  releaseChangelog,
  sectionOf,
} from './release.ts'

const changelog = `# Changelog

## [Unreleased]

### Added

- Refunds.

## [0.1.0] - 2026-01-02

- First.
`

describe('a release', () => {
  const now = new Date('2026-03-01T10:20:30Z')
  let root: string

  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const manifest = (version: string): string =>
    `{\n  "name": "x",\n  "version": "${version}",\n  "other": { "version": "9" }\n}\n`
  const make = (version?: string): void => {
    const plan = planRelease({ root, version, now })
    release(plan, () => writeFileSync(join(root, 'generated'), plan.version))
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'release-'))
    for (const folder of ['examples/shop', 'services/auth', 'packages/database', 'migrations'])
      mkdirSync(join(root, folder), { recursive: true })
    for (const folder of ['.', 'examples/shop', 'services/auth', 'packages/database', 'migrations']) {
      writeFileSync(join(root, folder, 'package.json'), manifest('0.1.0'))
    }
    writeFileSync(join(root, 'CHANGELOG.md'), '# Changelog\n\n## [Unreleased]\n\n- Refunds.\n')
    git('init', '--quiet')
    git('config', 'user.name', 'Release Test')
    git('config', 'user.email', 'release@example.test')
    git('config', 'commit.gpgsign', 'false')
    git('config', 'tag.gpgsign', 'false')
    git('add', '--all')
    git('commit', '--quiet', '--message', 'first')
  })

  afterEach(() => rmSync(root, { recursive: true }))

  it('sets the version everywhere, dates the changelog, commits and tags', () => {
    make('0.2.0')
    for (const folder of ['.', 'examples/shop', 'services/auth', 'packages/database', 'migrations']) {
      expect(read(`${folder}/package.json`)).toBe(manifest('0.2.0'))
    }
    expect(read('CHANGELOG.md')).toBe('# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-03-01\n\n- Refunds.\n')
    expect(git('log', '-1', '--format=%s')).toBe('chore(repo): release 0.2.0')
    expect(problemsOfMessage(git('log', '-1', '--format=%B'))).toEqual([])
    expect(git('show', 'HEAD:generated')).toBe('0.2.0')
    expect(git('tag', '--list', '--format=%(refname:short) %(subject) %(body)')).toBe('v0.2.0 Trestle 0.2.0 - Refunds.')
    expect(git('status', '--porcelain')).toBe('')
  })

  it.each([
    ['a version that is not later', '0.1.0', () => undefined, '0.1.0 does not come after 0.1.0'],
    ['changes that are not committed', '0.2.0', () => writeFileSync(join(root, 'new'), ''), 'not committed'],
    ['a tag that is there', '0.2.0', () => git('tag', 'v0.2.0'), 'the tag v0.2.0 is there already'],
  ])('refuses %s and changes nothing', (_case, version, arrange, message) => {
    arrange()
    const before = [git('status', '--porcelain'), git('rev-parse', 'HEAD')]
    expect(() => make(version)).toThrow(message)
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD')]).toEqual(before)
  })

  it('takes the version from the changelog, and a dry run changes nothing', () => {
    writeFileSync(join(root, 'CHANGELOG.md'), '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Refunds.\n')
    git('commit', '--all', '--quiet', '--message', 'second')
    const before = git('rev-parse', 'HEAD')
    expect(describeRelease(planRelease({ root, version: undefined, now }))).toEqual([
      'would set the version 0.2.0 (now 0.1.0) in 5 manifests:',
      '  examples/shop/package.json',
      '  migrations/package.json',
      '  package.json',
      '  packages/database/package.json',
      '  services/auth/package.json',
      'would date the changelog, and write the OpenAPI documents again',
      'would commit "chore(repo): release 0.2.0" and tag it v0.2.0',
      'pushing the tag would then test, build and publish images and the framework, and publish these notes:',
      '',
      '### Added\n\n- Refunds.',
    ])
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD'), git('tag')]).toEqual(['', before, ''])
    make()
    expect(git('tag')).toBe('v0.2.0')
  })
})

describe('sectionOf', () => {
  it.each([
    ['Unreleased', '### Added\n\n- Refunds.'],
    ['0.1.0', '- First.'],
    ['0.1', undefined],
  ])('returns the section of %s', (version, section) => {
    expect(sectionOf(changelog, version)).toBe(section)
  })
})

describe('linkNotes', () => {
  it.each([
    ['[runbook](docs/runbooks/upgrade.md#after)', '[runbook](https://git.example/v1/docs/runbooks/upgrade.md#after)'],
    ['[semver](https://semver.org)', '[semver](https://semver.org)'],
    ['[us](mailto:a@b.example) and [above](#added)', '[us](mailto:a@b.example) and [above](#added)'],
  ])('makes of %s the text %s', (notes, linked) => {
    expect(linkNotes(notes, 'https://git.example/v1')).toBe(linked)
  })
})

it('--help prints how it is called, and releases nothing', () => {
  const output = execFileSync(process.execPath, [join(import.meta.dirname, 'release.ts'), '--help'], {
    encoding: 'utf8',
  })
  expect(output.split('\n')[0]).toBe('usage: pnpm release [--dry-run] [major.minor.patch]')
})

describe('releaseChangelog', () => {
  it('dates the unreleased section and opens an empty one', () => {
    const released = releaseChangelog(changelog, '0.2.0', new Date('2026-03-01T23:59:59Z'))
    expect(released).toBe(changelog.replace('## [Unreleased]', '## [Unreleased]\n\n## [0.2.0] - 2026-03-01'))
    expect(sectionOf(released, 'Unreleased')).toBe('')
    expect(sectionOf(released, '0.2.0')).toBe('### Added\n\n- Refunds.')
  })

  it('refuses when nothing is unreleased, or the version is there', () => {
    const now = new Date(0)
    expect(() => releaseChangelog('# Changelog\n\n## [Unreleased]\n', '0.2.0', now)).toThrow(
      'nothing under [Unreleased]',
    )
    expect(() => releaseChangelog('# Changelog\n', '0.2.0', now)).toThrow('nothing under [Unreleased]')
    expect(() => releaseChangelog(changelog, '0.1.0', now)).toThrow('has a section 0.1.0 already')
  })
})

describe('isLaterVersion', () => {
  it.each([
    ['0.1.1', '0.1.0', true],
    ['0.10.0', '0.9.9', true],
    ['1.0.0', '0.99.99', true],
    ['0.1.0', '0.1.0', false],
    ['0.1.0', '0.2.0', false],
    ['0.9.9', '1.0.0', false],
  ])('says whether %s comes after %s: %s', (next, current, later) => {
    expect(isLaterVersion(next, current)).toBe(later)
  })

  it.each(['1', 'v1.0.0', '1.0.0-rc.1', '01.0.0', ''])('refuses %j', (version) => {
    expect(() => isLaterVersion(version, '0.1.0')).toThrow('not a version')
  })
})

describe('nextVersion', () => {
  it.each([
    ['0.1.9', '### Fixed\n\n- A hole.', '0.1.10'],
    ['0.1.9', '- Something.', '0.1.10'],
    ['0.1.9', '### Added\n\n- Refunds.', '0.2.0'],
    ['1.4.2', '### Changed\n\n- Faster.', '1.5.0'],
    ['1.4.2', '### Security\n\n- A hole.', '1.4.3'],
    ['0.9.1', '### Removed\n\n- XML.', '0.10.0'],
    ['1.4.2', '### Removed\n\n- XML.', '2.0.0'],
    ['1.4.2', '### Fixed\n\n- BREAKING: the answer is 404.', '2.0.0'],
  ])('raises %s for the section %j to %s', (current, section, next) => {
    expect(nextVersion(current, section)).toBe(next)
  })
})
