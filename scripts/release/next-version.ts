/** Headings of a changelog's section that say more than that something was mended. */
const NEW = /^### (Added|Changed|Deprecated)$/m
const BREAKING = /^### Removed$|^- .*\bBREAKING\b/m

/**
 * The version that comes after `current`, by what has changed. Before 1.0.0 a break is a new minor version.
 * @param section what is unreleased in the changelog
 * @see https://semver.org, https://keepachangelog.com
 */
export function nextVersion(current: string, section: string): string {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number)
  const isBreaking = BREAKING.test(section)
  if (isBreaking && major > 0) return `${major + 1}.0.0`
  if (isBreaking || NEW.test(section)) return `${major}.${minor + 1}.0`
  return `${major}.${minor}.${patch + 1}`
}
