// Follows the link of the page. `replace` keeps this page out of the browser history, so that Back does not return here.
window.location.replace(document.querySelector('#leave').href)
