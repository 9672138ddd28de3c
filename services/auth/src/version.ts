import packageJson from '../package.json' with { type: 'json' }

export const VERSION: string = packageJson.version

/** The version of supabase/auth that the profile supabase follows. */
export const SUPABASE_AUTH_VERSION = 'v2.196.0'
