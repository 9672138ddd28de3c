import { describe, expect, it } from 'vitest'
import { isLaterVersion, releaseChangelog, sectionOf } from './changelog.ts'

const changelog = `# Changelog

## [Unreleased]

### Added

- Refunds.

## [0.1.0] - 2026-01-02

- First.
`

describe('sectionOf', () => {
  it.each([
    ['Unreleased', '### Added\n\n- Refunds.'],
    ['0.1.0', '- First.'],
    ['0.1', undefined],
  ])('%s', (version, section) => {
    expect(sectionOf(changelog, version)).toBe(section)
  })
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
  ])('%s after %s: %s', (next, current, later) => {
    expect(isLaterVersion(next, current)).toBe(later)
  })

  it.each(['1', 'v1.0.0', '1.0.0-rc.1', '01.0.0', ''])('refuses %j', (version) => {
    expect(() => isLaterVersion(version, '0.1.0')).toThrow('not a version')
  })
})
