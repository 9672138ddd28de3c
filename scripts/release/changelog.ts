const unreleased = '## [Unreleased]'

/** The lines below `## [version]` up to the next version, trimmed; undefined when there is no such heading. */
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
 * Turns what is unreleased into the section of `version`, dated by the UTC day of `now`, and opens an empty one above.
 * Throws when nothing is unreleased or the version has a section already.
 */
export function releaseChangelog(changelog: string, version: string, now: Date): string {
  if (sectionOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has a section ${version} already`)
  if (!sectionOf(changelog, 'Unreleased')) throw new Error('CHANGELOG.md has nothing under [Unreleased]')
  return changelog.replace(unreleased, `${unreleased}\n\n## [${version}] - ${now.toISOString().slice(0, 10)}`)
}

/** Whether `next` comes after `current`; both are `major.minor.patch`. Throws when one of them is not. */
export function isLaterVersion(next: string, current: string): boolean {
  const [a, b] = [numbersOf(next), numbersOf(current)]
  const place = a.findIndex((number, i) => number !== b[i])
  return place >= 0 && (a[place] ?? 0) > (b[place] ?? 0)
}

function numbersOf(version: string): readonly number[] {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version)) throw new Error(`not a version: ${version}`)
  return version.split('.').map(Number)
}
