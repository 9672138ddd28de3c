/** What the page's form carries on. */
export interface ConfirmationForm {
  readonly type: string
  readonly token: string
  readonly redirectTo: string | undefined
}

/**
 * The page that MAILER_LINK_MODE `confirm` puts between a mail's link and its effect: programs that look at links in
 * mails open the page, but only a person presses the button.
 */
export function confirmationPage({ type, token, redirectTo }: ConfirmationForm): string {
  const fields = { token, type, ...(redirectTo === undefined ? {} : { redirect_to: redirectTo }) }
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeAttribute(value)}">`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Confirm</title></head>
<body><main><h1>Confirm that it is you</h1>
<form method="post" action="?">${inputs.join('')}<button type="submit">Continue</button></form>
</main></body>
</html>
`
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&#34;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
