export const PATHS = {
  home: '/',
  search: '/search',
  signIn: '/sign-in',
  signInFactor: '/sign-in/factor',
  signInFactors: '/sign-in/factors',
  signInLink: '/sign-in/link',
  signOut: '/sign-out',
} as const

export function merchantPath(id: string): string {
  return `/merchants/${encodeURIComponent(id)}`
}

/**
 * Returns the path if it belongs to the console, otherwise the home page. Rejects other sites, paths that a browser reads as
 * another site, and fragments, which could choose the target of the next Tab.
 */
export function ownPath(text: string | undefined): string {
  return text !== undefined && /^\/(?![/\\])[\x21\x22\x24-\x7e]*$/.test(text) ? text : PATHS.home
}
