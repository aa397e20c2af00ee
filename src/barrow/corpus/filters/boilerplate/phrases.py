"""Phrases that begin boilerplate lines of web pages.

A line is boilerplate by a phrase if its words begin with the phrase, at most `extra` more follow,
and one of `needs` is among those (if there are any). Words are runs of ASCII letters and digits in
lower case, so marks, arrows and case make no difference.
"""

from __future__ import annotations

from typing import NamedTuple


class Phrase(NamedTuple):
    """A beginning of a line under a rule."""

    rule: str
    words: tuple[str, ...]
    extra: int = 0
    needs: frozenset[str] = frozenset()


def _phrases(rule: str, text: str, extra: int = 0, needs: str = "") -> list[Phrase]:
    lines = filter(None, map(str.strip, text.split("\n")))
    return [Phrase(rule, tuple(line.split()), extra, frozenset(needs.split())) for line in lines]


_COOKIES = """
this site uses cookies
this website uses cookies
our site uses cookies
our website uses cookies
we use cookies
we and our partners use cookies
we use our own and third party cookies
by continuing to use this site
by continuing to use our site
by continuing to use this website
by continuing to browse
by using this site you agree
by using this website you agree
by using our site you agree
by using our website you agree
cookies help us deliver our services
"""
_ABOUT_COOKIES = """
accept agree browser browsing consent continue continuing experience policy preferences privacy
services settings site traffic website
"""
_SHARE = """
share this
share this article
share this story
share this post
share this page
share this entry
share this with
share on facebook
share on twitter
share on linkedin
share via email
share with friends
click to share on facebook
click to share on twitter
tweet this
like us on facebook
like this page on facebook
follow us on twitter
follow us on facebook
follow us on instagram
follow us on social media
follow us
find us on facebook
email this
email this article
email this page
blogthis share to twitter share to facebook
print this page
print this article
pin it
"""
_SUBSCRIBE = """
subscribe to our newsletter
subscribe to our free newsletter
subscribe to our mailing list
subscribe to our email list
sign up for our newsletter
sign up for our free newsletter
sign up for our daily newsletter
sign up for our weekly newsletter
sign up to our newsletter
sign up for email updates
sign up for free
sign up for updates
sign up today
sign up now
join our mailing list
join our newsletter
get our newsletter
get the latest news delivered
enter your email address to subscribe
enter your email address to follow
never miss a story
"""
_SUBSCRIBE_SHORT = """
subscribe
subscribe now
subscribe today
subscribe here
subscribe via email
subscribe by email
subscribe to feed
subscribe to rss
rss feed
newsletter signup
"""
_LOGIN = """
log in
log out
sign in
sign out
sign up
register now
login register
log in register
log in sign up
sign in register
sign in sign up
login or register
log in or register
log in or sign up
sign in or register
login or create an account
login to your account
log in to your account
sign in to your account
log in to comment
log in to reply
log in to reply to this
login to reply
login to comment
forgot password
forgot your password
forgot your username
lost your password
remember me
create an account
create a new account
create account
my account
already a member
already have an account
already registered
not a member
not a member yet
not registered
"""
_LOGIN_LONG = """
you must be logged in to post a comment
you must be logged in to reply
you must be logged in to comment
you must be a registered user
you must log in or register
you need to be logged in to
please log in to
please login to
please sign in to
please login or register
please log in or register
"""
_READ_MORE = """
read more
read more here
read more from
read the full article
read the full story
read full article
read full story
read the rest
read the rest of this entry
continue reading
continue reading below
continue to full article
click here to read more
click here for more
click for more
click here
click to enlarge
see more
see all
show more
show less
show all
load more
load more comments
view more
view all
view all comments
view all posts
view comments
view full article
learn more
find out more
more info
more information
more details
next page
previous page
next post
previous post
older posts
newer posts
older entries
newer entries
previous next
next article
previous article
"""
_TERMS = """
terms of use
terms of service
terms conditions
terms and conditions
privacy policy
privacy terms
privacy notice
privacy statement
cookie policy
cookie settings
legal notice
site map
sitemap
contact us
about us
terms of use privacy policy
terms of service privacy policy
privacy policy terms of use
privacy policy terms of service
terms and conditions privacy policy
privacy policy terms and conditions
"""
_TERMS_LONG = """
use of this site constitutes acceptance
use of this website constitutes acceptance
your use of this site constitutes
your use of this website constitutes
this material may not be published broadcast rewritten
no part of this site may be reproduced
this site is protected by recaptcha
"""
_JAVASCRIPT = """
please enable javascript
please turn on javascript
javascript is disabled
javascript is not enabled
javascript is currently disabled
javascript is required
javascript must be enabled
javascript seems to be disabled
enable javascript
you need to enable javascript
you must enable javascript
you need javascript enabled
you must have javascript enabled
this site requires javascript
this page requires javascript
this website requires javascript
your browser does not support javascript
your browser has javascript disabled
your javascript is turned off
we have detected that javascript
this email address is being protected from spambots
"""
_COMMENTS = """
leave a comment
leave a reply
leave a comment cancel reply
leave a reply cancel reply
cancel reply
post a comment
post comment
add a comment
add comment
write a comment
no comments
no comments yet
be the first to comment
comments are closed
comments off
report abuse
report this
flag as inappropriate
permalink
"""
_COMMENTS_LONG = """
your email address will not be published
required fields are marked
this entry was posted in
you can follow any responses to this entry
notify me of follow up comments
notify me of new posts
notify me of followup comments
fill in your details below or click an icon
"""
_PAGE = """
skip to content
skip to main content
skip to main navigation
skip to navigation
skip to primary content
skip to search
skip navigation
back to top
return to top
go to top
jump to navigation
toggle navigation
main menu
close menu
advertisement
advertisements
advertisement continue reading below
story continues below advertisement
article continues below advertisement
sponsored content
sponsored links
you are here home
"""

PHRASES: tuple[Phrase, ...] = (
    *_phrases("cookies", _COOKIES, 40, _ABOUT_COOKIES),
    *_phrases("share", _SHARE),
    *_phrases("subscribe", _SUBSCRIBE_SHORT),
    *_phrases("subscribe", _SUBSCRIBE, 14),
    *_phrases("login", _LOGIN),
    *_phrases("login", _LOGIN_LONG, 10),
    *_phrases("read-more", _READ_MORE),
    *_phrases("terms", _TERMS),
    *_phrases("terms", _TERMS_LONG, 30),
    *_phrases("javascript", _JAVASCRIPT, 25),
    *_phrases("comments", _COMMENTS),
    *_phrases("comments", _COMMENTS_LONG, 20),
    *_phrases("page", _PAGE),
)
