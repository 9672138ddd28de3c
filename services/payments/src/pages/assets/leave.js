// Goes on to where the page leads, and leaves no step to come back to.
window.location.replace(document.querySelector('#leave').href)
