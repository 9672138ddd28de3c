// Prints the page. The button is shown only where this script runs.
const button = document.querySelector('#print')
button.hidden = false
button.addEventListener('click', () => window.print())
