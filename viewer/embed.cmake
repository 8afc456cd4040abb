# cmake -DSOURCE=DIR -DOUTPUT=FILE.c -P embed.cmake: joins page.html with the styles and scripts that it names, puts a
# content security policy with their hashes in front, and writes the whole as a C array.
#
#     <link rel="stylesheet" href="css/x.css">           -> all of them: one <style>
#     <script src="js/x.js"></script>                    -> all of them: one <script>
#     <script type="text/plain" id="worker-source" data-src="worker/a.js worker/b.js"></script> -> their text, which runs
#         only in a Worker
#
# So page.html also runs as it is from any static server, with no build.
cmake_minimum_required(VERSION 3.25)

# Joins the files named by the captures of `pattern` in the page and removes the tags. Fails on what would end an element
# early.
function(join_sources pattern result)
    string(REGEX MATCHALL "${pattern}" tags "${page}")
    set(joined "")
    foreach(tag IN LISTS tags)
        string(REGEX REPLACE "${pattern}" "\\1" names "${tag}")
        string(REPLACE " " ";" names "${names}")
        foreach(name IN LISTS names)
            file(READ "${SOURCE}/${name}" text)
            string(TOLOWER "${text}" lower)
            foreach(bad "</script" "</style" "<!--" "%iket_")
                string(FIND "${lower}" "${bad}" at)
                if(NOT at EQUAL -1)
                    message(FATAL_ERROR "${name} must not contain ${bad}: it would end its element in the page")
                endif()
            endforeach()
            string(APPEND joined "${text}")
        endforeach()
        string(REPLACE "${tag}\n" "" page "${page}")
    endforeach()
    set(page "${page}" PARENT_SCOPE)
    set(${result} "${joined}" PARENT_SCOPE)
endfunction()

# The base64 of a text's SHA-256, as a policy names it.
function(policy_hash text result)
    string(SHA256 hex "${text}")
    set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    set(base64 "")
    foreach(at RANGE 0 59 6) # 3 bytes, 4 characters
        string(SUBSTRING "${hex}" ${at} 6 part)
        foreach(shift 18 12 6 0)
            math(EXPR index "(0x${part} >> ${shift}) & 63")
            string(SUBSTRING "${alphabet}" ${index} 1 letter)
            string(APPEND base64 "${letter}")
        endforeach()
    endforeach()
    string(SUBSTRING "${hex}" 60 4 part) # the last 2 bytes
    foreach(shift 12 6 0)
        math(EXPR index "((0x${part} << 2) >> ${shift}) & 63")
        string(SUBSTRING "${alphabet}" ${index} 1 letter)
        string(APPEND base64 "${letter}")
    endforeach()
    set(${result} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

file(READ "${SOURCE}/page.html" page)
join_sources("<link rel=\"stylesheet\" href=\"([^\"]*)\">" style)
join_sources("<script src=\"([^\"]*)\"></script>" script)
join_sources("<script type=\"text/plain\" id=\"worker-source\" data-src=\"([^\"]*)\"></script>" worker)

policy_hash("${style}" style_hash)
policy_hash("${script}" script_hash)
string(CONCAT policy "default-src 'none'; script-src ${script_hash}; style-src ${style_hash}; worker-src blob:; "
    "connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'")

string(REPLACE "<!-- policy -->" "<meta http-equiv=\"Content-Security-Policy\" content=\"${policy}\">" page "${page}")
string(REPLACE "<!-- style -->" "<style>${style}</style>" page "${page}")
string(REPLACE "<!-- script -->"
    "<script type=\"text/plain\" id=\"worker-source\">${worker}</script>\n<script>${script}</script>" page "${page}")

file(WRITE "${OUTPUT}.html" "${page}")
file(READ "${OUTPUT}.html" hex HEX)
string(LENGTH "${hex}" length)
math(EXPR length "${length} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REPEAT "0x..," 24 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "// Written by viewer/embed.cmake.
#include \"viewer/page_template.h\"

const size_t iket_page_template_size = ${length};
const unsigned char iket_page_template[] = {
${bytes}
};
const char iket_page_policy[] = \"${policy}\";
")
