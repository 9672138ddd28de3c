import { AuthClient } from '@supabase/auth-js'

declare const AUTH_URL: string
/** Keeps the session in this browser, and refreshes it. */
const auth = new AuthClient({ url: AUTH_URL, storageKey: 'nordhavn', detectSessionInUrl: false })
const form = document.forms.namedItem('sign-in')
/** Shows a step of the form, and a text about it. The step of the code begins in its field. */
function show(step: string, text = ''): void {
  form?.setAttribute('class', step)
  form?.querySelector('[role=status]')?.replaceChildren(text)
  form?.querySelector<HTMLElement>(step ? '[name=code]' : '[name=email]')?.focus()
}
/** The shop's server knows the user by a cookie with the access token, and draws the page anew for another user. */
auth.onAuthStateChange(async (_event, session) => {
  const value = session?.access_token ?? ''
  if (value === ((await cookieStore.get('token'))?.value ?? '')) return
  await cookieStore.set({ name: 'token', value, sameSite: 'lax' })
  if (form?.dataset.email !== (session?.user.email ?? '')) location.reload()
})
document.querySelector('#sign-out')?.addEventListener('click', () => auth.signOut({ scope: 'local' }))
form?.addEventListener('submit', async (event) => {
  event.preventDefault()
  const fields = new FormData(form, event.submitter)
  const field = (name: string) => String(fields.get(name) ?? '')
  const [email, password, token] = [field('email'), field('password'), field('code')]
  const enter = () => auth[fields.has('new') ? 'signUp' : 'signInWithPassword']({ email, password })
  const { data, error } = await (token ? auth.verifyOtp({ type: 'signup', email, token }) : enter())
  if (error) show(token ? 'mailed refused' : 'refused', error.message)
  else if (!data.session) show('mailed', `We have mailed a code to ${email}.`)
})
form?.addEventListener('reset', () => show(''))
